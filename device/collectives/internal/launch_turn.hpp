// A group's turn to launch collectives on its devices, in all of its processes. Private to device_communicator.cpp.
//
// Problem: within a process groups launch one after the other (launch_order.hpp). With groups over the same two
// processes that is not enough: the one may have its turn in the first process and wait for it in the second, where the
// other one has it and waits for the first. Solution: a group launches when it has its turn in all of its processes.
// Mostly no other group launches there: each process takes its turn if it is free, and the ranks tell each other on
// their control whether all have it. Otherwise all give it back and take it one process after the other, from the
// first: who waits for a process has its turn in earlier ones only, so no ring of groups waits for each other. For that
// all groups have their processes in one order, which is that of the job's tasks.
#pragma once

#include <troupe/device/collectives/communicator.hpp>
#include <troupe/device/collectives/internal/launch_order.hpp>

#include <memory>

namespace troupe {

/// One rank's part. One thread at a time, but for close().
class launch_turn {
 public:
  /// `here`: what the ranks of this process share. `control` joins the ranks of all `processes`, which have as many
  /// each; it outlives this.
  launch_turn(std::shared_ptr<launch_order> here, communicator& control, int processes);

  /// Each rank of the group, before it launches a call on which all have agreed. True once it is the group's turn,
  /// false at the deadline, or when the group has ended. Throws what the control throws.
  [[nodiscard]] bool begin(communicator::clock::time_point deadline);
  /// Each rank when it has launched.
  void end() { here_->end(); }
  /// The group launches nothing any more.
  void close() noexcept { here_->close(); }

 private:
  bool all_have_it(communicator::clock::time_point deadline);
  bool begin_here(communicator::clock::time_point deadline);
  bool begin_in_turn(communicator::clock::time_point deadline);

  const std::shared_ptr<launch_order> here_;
  communicator& control_;
  const int processes_;
  const int this_process_;
};

}  // namespace troupe
