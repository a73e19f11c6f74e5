// One node under virtual time, for tests.
//
// CAF's test scheduler runs all actors in the test's own thread, one message after the other in the order of sending,
// and time stands still until the test advances it. So a test says exactly what happens before what, a day costs
// nothing, and a failure repeats. Only what a test starts itself (a thread, a child process) runs beside it.
#pragma once

#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/message_types.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace troupe {

/// What a test lets an actor do.
struct errand {
  std::function<void()> work;
};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(::troupe::errand)

namespace troupe {

/// The node. Ends what it spawned, then waits for nobody: actors that a test spawned otherwise must have ended.
class virtual_system {
 public:
  virtual_system() { run(); }
  ~virtual_system() {
    for (const auto& handle : spawned_) caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    spawned_.clear();
    run();
    clock().cancel_all();
  }
  virtual_system(const virtual_system&) = delete;
  virtual_system& operator=(const virtual_system&) = delete;

  caf::actor_system& system() { return system_; }
  caf::scheduler::test_coordinator& scheduler() { return scheduler_; }
  caf::detail::test_actor_clock& clock() { return scheduler_.clock(); }
  time_point now() { return clock().now(); }

  /// Spawns an actor that ends with the world.
  template <class... Ts>
  auto spawn(Ts&&... arguments) {
    auto handle = system_.spawn(std::forward<Ts>(arguments)...);
    spawned_.push_back(caf::actor_cast<caf::actor>(handle));
    return handle;
  }

  /// From now on a draw decides which of the actors that have something to do goes on, one message at a time.
  void draw_order(std::uint64_t seed) { order_.emplace(seed); }

  /// Delivers messages, and what is due now, until nothing is left to do.
  void run() {
    do {
      while (run_one()) {
      }
    } while (clock().advance_time({}) > 0);
  }
  /// Delivers so many messages, or as many as there are.
  void run_some(int messages) {
    while (messages-- > 0 && run_one()) {
    }
  }

  /// Time passes, from one timeout to the next: whatever happens at a time happens when `now()` is that time.
  void advance(duration by) {
    run();
    const auto target = now() + by;
    while (!clock().schedule().empty() && clock().schedule().begin()->first <= target) {
      clock().advance_time(clock().schedule().begin()->first - now());
      run();
    }
    clock().advance_time(target - now());
  }

 private:
  struct config : caf::actor_system_config {
    config() {
      set("scheduler.policy", caf::atom("testing"));
      add_troupe_types(*this);
    }
  };

  bool run_one() {
    auto& jobs = scheduler_.jobs;
    if (order_ && !jobs.empty()) {
      const auto chosen = jobs.begin() + static_cast<std::ptrdiff_t>((*order_)() % jobs.size());
      std::rotate(jobs.begin(), chosen, chosen + 1);
    }
    return scheduler_.try_run_once();
  }

  config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_ = dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  std::vector<caf::actor> spawned_;
  std::optional<std::mt19937_64> order_;
};

/// An actor that is nothing but its state and does the errands of a test. Ends, and with it the state, where its scope
/// ends: declare it after what its errands refer to.
template <class State>
class simulated_actor {
 public:
  explicit simulated_actor(virtual_system& world) : world_(world), handle_(world.system().spawn(&behavior)) {
    world_.run();
  }
  ~simulated_actor() { end(); }
  simulated_actor(const simulated_actor&) = delete;
  simulated_actor& operator=(const simulated_actor&) = delete;

  /// Does `work` as one handler of the actor, then everything that follows from it.
  void act(std::function<void()> work) {
    caf::anon_send(handle_, errand{std::move(work)});
    world_.run();
  }

  /// Only before the end, and only to look: what sends messages belongs into an errand.
  State& state() { return pointer()->state; }
  State* operator->() { return &state(); }
  caf::stateful_actor<State>* pointer() {
    return &dynamic_cast<caf::stateful_actor<State>&>(*caf::actor_cast<caf::abstract_actor*>(handle_));
  }

  /// The actor ends; later errands are not done.
  void end() {
    caf::anon_send_exit(handle_, caf::exit_reason::user_shutdown);
    world_.run();
  }

 private:
  static caf::behavior behavior(caf::stateful_actor<State>*) {
    return {[](const errand& given) { given.work(); }};
  }

  virtual_system& world_;
  caf::actor handle_;
};

}  // namespace troupe
