// The worker whose process the benches kill, freeze and wait for.
#pragma once

#include <troupe/runtime/cluster_coordinator.hpp>

#include <cstdint>

#include <sys/types.h>

namespace troupe::tools {

/// Nanoseconds on the clock that all processes of this machine share.
std::int64_t machine_time_ns();

/// The victim's index; the other workers' go on.
inline constexpr int victim = 1;

/// What the victim's process says of itself.
struct victim_process {
  pid_t pid = 0;
  /// When its own code began to run, and when a closure of the chief's did.
  std::int64_t began_ns = 0;
  std::int64_t ran_ns = 0;
};

/// Waits until the victim runs closures.
victim_process running_victim(cluster_coordinator& coordinator);

/// Returns when the signal was sent, on `machine_time_ns`. @throws failed_precondition_error when it can't be.
std::int64_t send_signal(const victim_process& whom, int number);

}  // namespace troupe::tools
