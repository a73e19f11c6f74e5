// Collectives between accelerators, by what their kind has for it (device_group.hpp): NCCL for GPUs.
//
// That is fast, but it hangs when ranks disagree or one is missing. So each rank has a second communicator, on the
// host, between the same ranks, the control: before every collective the ranks tell each other there what they are
// about to call. Only when all are there and agree, it is launched; that costs the control one small all_gather. While
// it runs, asynchronous errors, the control, and the deadline are watched, and any of them aborts it. Groups that share
// devices launch in one order (internal/launch_turn.hpp), in all processes.
//
// The devices join at the first collective, as a part of it: a group that is never used costs nothing.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// The ends of a new group of this process's devices, for tensors there; `controls` has one end of a group for each.
/// Each is used by a thread of its own. Every rank needs another GPU: logical devices of one GPU cannot be in one
/// group. Where `controls` have ranks in other processes, too, in the order of processes and as many in each, so has
/// the group; emulated GPUs of several processes have to be on one host.
///
/// A minimum or maximum treats NaN as NCCL does. int16, which NCCL does not have, is reduced as int32. Throws as
/// accelerators.hpp says; the first collective besides as D-1 says, and unavailable_error without NCCL.
std::vector<std::unique_ptr<communicator>> make_device_communicators(
    std::vector<std::unique_ptr<communicator>> controls, const std::vector<std::string>& devices);

}  // namespace troupe
