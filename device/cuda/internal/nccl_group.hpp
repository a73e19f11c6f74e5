// A group of GPUs by a non-blocking NCCL communicator that any thread can abort. Private to the CUDA part.
//
// NCCL's calls for one communicator must not overlap, and an abort may take long or, when a GPU is lost, hang. So the
// calls are short (the communicator is non-blocking: they return ncclInProgress, and is_settled() asks for the end) and
// happen under a mutex; and an abort takes the communicator away from all others and ends it on a thread of its own.
#pragma once

#include <troupe/device/collectives/device_group.hpp>

#include <memory>
#include <string>

namespace troupe::cuda {

/// Of a new group. Throws unavailable_error without NCCL.
device_group_id new_nccl_group();

/// Begins to join that group. Throws as accelerators.hpp says for the device, unavailable_error without NCCL; launches
/// throw unimplemented_error for reductions of int16, which NCCL does not have.
std::unique_ptr<device_group> join_nccl_group(const std::string& device, const device_group_id& id, int rank, int size);

}  // namespace troupe::cuda
