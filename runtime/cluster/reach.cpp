#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/runtime/cluster/basp_dialer.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/reach.hpp>
#include <troupe/runtime/cluster/replaced_functions.hpp>

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace troupe {

namespace {

using finder_actor = caf::typed_actor<
    caf::replies_to<dial_atom, std::string, std::uint16_t>::with<caf::strong_actor_ptr, std::set<std::string>>>;

struct finder_state {
  static constexpr const char* name = "finder";
  std::optional<basp_dialer> dials;
};

finder_actor::behavior_type finder(finder_actor::stateful_pointer<finder_state> self, duration limit) {
  auto& dials = self->state.dials.emplace(self, links_of(self->system()), dial_options{.dial_limit = limit});
  return {[self, &dials](dial_atom, const std::string& host, std::uint16_t port) {
    auto promise =
        self->make_response_promise<caf::typed_response_promise<caf::strong_actor_ptr, std::set<std::string>>>();
    dials.dial({host, port}, [promise](const caf::strong_actor_ptr& published, const std::set<std::string>& interface,
                                       const status& why) mutable {
      if (why.ok())
        promise.deliver(published, interface);
      else
        promise.deliver(make_error(why));
    });
    return promise;
  }};
}

/// Its timers would keep the system from its end.
struct search {
  finder_actor by;

  explicit search(finder_actor actor) : by(std::move(actor)) {}
  search(const search&) = delete;
  ~search() { caf::anon_send_exit(by, caf::exit_reason::user_shutdown); }
};

}  // namespace

published_actor reach(caf::actor_system& system, const task_address& where, duration limit, const std::string& doing) {
  require_replaced_functions();  // the finder can't report it
  // It answers in time; this is for the case that it can't.
  constexpr duration grace = std::chrono::seconds{1};
  const search finds{system.spawn(finder, limit)};
  published_actor found;
  const auto longer = limit < duration::max() - grace ? limit + grace : limit;
  ask(
      system, finds.by, longer, doing,
      [&](caf::strong_actor_ptr& handle, std::set<std::string>& interface) {
        found = {std::move(handle), std::move(interface)};
      },
      dial_atom_v, where.host, where.port);
  return found;
}

}  // namespace troupe
