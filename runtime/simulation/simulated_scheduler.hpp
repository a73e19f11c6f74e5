// CAF's scheduler in a simulated process: actors with something to do go to the agenda instead of a queue.
#pragma once

#include <troupe/runtime/simulation/simulated_clock.hpp>

#include <caf/scheduler/test_coordinator.hpp>

namespace troupe {

class simulated_scheduler final : public caf::scheduler::test_coordinator {
 public:
  simulated_scheduler(caf::actor_system& system, simulated_process& of);

  simulated_clock& clock() noexcept override { return clock_; }
  void enqueue(caf::resumable* job) override;

 protected:
  void stop() override;

 private:
  simulated_process& process_;
  simulated_clock clock_;
};

}  // namespace troupe
