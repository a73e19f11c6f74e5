// Collectives of a GPU that go through the host's memory: for groups that NCCL cannot serve, such as logical devices of
// one GPU, or GPUs together with CPUs.
//
// The input is copied into pinned memory, any communicator of host memory does the work, and the result is copied back.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <memory>
#include <string>

namespace troupe {

/// This rank's end of `host`'s group, for tensors on the GPU `device`. Throws for unknown devices, as accelerators.hpp
/// says; the other ranks of the group are then ended with the same status.
std::unique_ptr<communicator> make_through_host_communicator(std::unique_ptr<communicator> host,
                                                             const std::string& device);

}  // namespace troupe
