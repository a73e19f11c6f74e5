// Collectives between GPUs, by NCCL.
//
// NCCL is fast, but it hangs when ranks disagree or one is missing. So each rank has a second communicator, on the
// host, between the same ranks, the control: before every collective the ranks tell each other there what they are
// about to call. Only when all are there and agree, NCCL is called; that costs the control one small all_gather. While
// NCCL runs, its asynchronous errors, the control, and the deadline are watched, and any of them aborts it.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace troupe {

/// Whether troupe was built with NCCL.
bool is_nccl_built() noexcept;

/// This rank's end of a group of GPUs, for tensors on `device`; ranks are those of the control. All ranks call this at
/// the same time, each from a thread of its own, and it returns when all have joined. Every rank needs another GPU:
/// logical devices of one GPU cannot be in one NCCL group.
///
/// A minimum or maximum treats NaN as NCCL does. Throws as D-1 says, unavailable_error without CUDA, NCCL or a GPU,
/// and unimplemented_error, from reductions, for int16, which NCCL does not have.
std::unique_ptr<communicator> make_nccl_communicator(std::unique_ptr<communicator> control, const std::string& device,
                                                     std::chrono::nanoseconds limit);

}  // namespace troupe
