// An actor system whose actors run only when the calling thread says so: what one actor costs can be measured alone.
#pragma once

#include <troupe/actors/messages/message_types.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <cstdint>
#include <ctime>

namespace troupe::tools {

class bench_simulation {
 public:
  caf::actor_system& system() { return system_; }
  caf::scheduler::test_coordinator& scheduler() { return scheduler_; }
  /// Runs until no actor has anything to do. Time stands still.
  void run() {
    while (scheduler_.try_run_once()) {
    }
  }
  /// The same; returns the CPU time that it took, in ns.
  std::int64_t run_timed() {
    const auto before = thread_time_ns();
    run();
    return thread_time_ns() - before;
  }
  /// The same; `took` is told the CPU time that each message has cost this actor, in ns.
  template <class Handle, class Took>
  void run(const Handle& measured, Took took) {
    const auto* const its_turn = dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(measured));
    while (scheduler_.has_job()) {
      const auto counts = scheduler_.jobs.front() == its_turn;
      const auto before = counts ? thread_time_ns() : 0;
      scheduler_.run_once();
      if (counts) took(thread_time_ns() - before);
    }
  }

 private:
  static std::int64_t thread_time_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  struct config : caf::actor_system_config {
    config() {
      set("scheduler.policy", caf::atom("testing"));
      add_troupe_types(*this);
    }
  };

  config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_ = dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
};

}  // namespace troupe::tools
