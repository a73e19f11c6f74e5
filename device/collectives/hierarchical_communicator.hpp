// Collectives among several ranks in each of several processes: replicas on all devices of many hosts.
//
// The ranks of a process work together as threads do, and one of them, the leader (its first rank), stands for all in
// the collectives between processes. So each byte crosses the slow connection once for a process, not for each rank.
// Where the ranks are GPUs they work together as those do (device_communicator.hpp), and the leader's tensors go over
// its host's memory.
#pragma once

#include <troupe/device/collectives/thread_communicator.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace troupe {

/// Makes ends on devices of those on the host that control them.
using device_connection =
    std::function<std::vector<std::unique_ptr<communicator>>(std::vector<std::unique_ptr<communicator>> controls)>;

/// The ends of this process's ranks in a group that spans processes. `processes` is this process's end of a group with
/// one rank for each process; whoever else holds it may only abort it. `ranks_per_process` says how many ranks each
/// process has, and is equal everywhere. Ranks are numbered through: first those of process 0, then those of process 1,
/// and so on.
///
/// A mean is the mean of the processes' means, so it may differ in the last bits from that of a flat group. What ends
/// one rank ends all: the status of a failure between processes reaches all ranks here as the cause of an error of the
/// same code, and a rank's failure or abort reaches all processes.
///
/// `make_local` connects the ranks of this process in host memory; `make_on_devices`, if it is there, where their
/// tensors are.
///
/// Throws invalid_argument_error if a number of ranks is below 1, or their number is not that of the processes.
std::vector<std::unique_ptr<communicator>> make_hierarchical_communicators(
    std::shared_ptr<communicator> processes, const std::vector<int>& ranks_per_process,
    const local_connection& make_local = make_thread_communicators, const device_connection& make_on_devices = nullptr);

}  // namespace troupe
