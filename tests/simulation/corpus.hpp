// What the small protocols of the corpus have in common: services of one kind of message, and callers.
#pragma once

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <caf/result.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace troupe::corpus {

/// Takes what is to be done and two numbers.
using service_actor = caf::typed_actor<caf::replies_to<std::int64_t, std::int64_t, std::int64_t>::with<std::int64_t>>;
using service_pointer = service_actor::pointer;
using handler = std::function<caf::result<std::int64_t>(service_pointer self, std::int64_t what, std::int64_t first,
                                                        std::int64_t second)>;

constexpr std::uint16_t port = 5000;
constexpr duration start_limit = std::chrono::seconds{5};
constexpr duration call_limit = std::chrono::milliseconds{50};

inline service_actor::behavior_type service(service_pointer self, const handler& does) {
  return {[=](std::int64_t what, std::int64_t first, std::int64_t second) { return does(self, what, first, second); }};
}

inline service_actor serve(simulated_host& here, handler does) {
  auto made = here.spawn(service, std::move(does));
  publish_actor(here.system(), made, port, start_limit);
  return made;
}

// What services are asked to do.

constexpr std::int64_t put = 1;
constexpr std::int64_t get = 2;
constexpr std::int64_t add = 3;

/// Calls the service of another host, and finds it again when its process was lost.
class caller {
 public:
  caller(simulated_host& here, std::string name) : here_(here), name_(std::move(name)) {}

  /// @throws unavailable_error, deadline_exceeded_error, and what the service answers.
  std::int64_t call(std::int64_t what, std::int64_t first = 0, std::int64_t second = 0, duration limit = call_limit) {
    if (!found_) found_ = remote_actor<service_actor>(here_.system(), name_, port, start_limit);
    std::int64_t result = 0;
    try {
      ask(
          here_.system(), *found_, limit, "calling " + name_, [&](std::int64_t answer) { result = answer; }, what,
          first, second);
    } catch (const error&) {
      found_.reset();
      throw;
    }
    return result;
  }
  /// Until there is an answer.
  std::int64_t insist(std::int64_t what, std::int64_t first = 0, std::int64_t second = 0) {
    for (;;) {
      try {
        return call(what, first, second);
      } catch (const error&) {
        sleep_for(std::chrono::milliseconds{1});
      }
    }
  }

 private:
  simulated_host& here_;
  std::string name_;
  std::optional<service_actor> found_;
};

/// Everything that was to end has ended, when all is healed and time has passed.
inline void finish(simulated_world& world, duration while_it_fails = std::chrono::milliseconds{200}) {
  world.advance(while_it_fails);
  world.heal_everything();
  world.advance(std::chrono::seconds{30});
}

// Faults that are about what lasts (corpus_of_lasting_faults.cpp); the others are beside the corpus.

void torn_checkpoint(simulated_world& world, bool planted);
void missing_sync(simulated_world& world, bool planted);
void rename_before_the_sync(simulated_world& world, bool planted);
void order_lost_behind_large_data(simulated_world& world, bool planted);
void clock_jump(simulated_world& world, bool planted);

}  // namespace troupe::corpus
