// Large copies between a GPU and host memory that is not pinned. Private to the CUDA part.
//
// Problem: a GPU reaches only pinned memory by itself. Other memory goes through pinned memory of CUDA's, copied by one
// thread, which is a fifth of what the bus can: 12 of 55 GB/s to an H200. Solution: several threads take pieces of it
// in turn. Each has pinned memory for two, and copies one while the other is on the bus.
#pragma once

#include <troupe/device/cuda/internal/cuda_device_state.hpp>

#include <cstddef>

namespace troupe::cuda {

/// Copies as cudaMemcpyAsync does on that stream of the device; done on return. False: nothing was done, since it would
/// gain nothing (few bytes, pinned already, few processors) or there is no pinned memory for it.
bool copy_staged(std::byte* target, const std::byte* source, std::size_t bytes, cudaMemcpyKind direction,
                 device_state& gpu, stream& on);

}  // namespace troupe::cuda
