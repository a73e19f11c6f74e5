// An actor system whose actors run only when the calling thread says so: what one actor costs can be measured alone.
#pragma once

#include <troupe/actors/messages/message_types.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/scheduler/test_coordinator.hpp>

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

 private:
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
