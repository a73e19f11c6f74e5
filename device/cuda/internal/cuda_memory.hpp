// Memory of GPUs, pinned memory of the host, and copies between them.
//
// Both kinds of memory are kept for reuse when the last handle on them is gone (caching_allocator.hpp). Tensors are the
// usual way to all of this: tensor::zeros(type, shape, "GPU:0"), tensor::copy_to("GPU:0").
//
// Errors: as in cuda_device.hpp. Any thread may call these.
#pragma once

#include <troupe/device/tensor/buffer.hpp>
#include <troupe/device/tensor/internal/caching_allocator.hpp>

#include <cstddef>
#include <string>

namespace troupe::cuda {

/// Memory on a GPU with indeterminate contents.
buffer allocate(const std::string& device, std::size_t bytes);

/// Host memory with indeterminate contents that GPUs reach without help of the processor: copies to and from it are the
/// fastest. It cannot be swapped out, so use it for what is copied often. Without a GPU, ordinary host memory.
buffer allocate_pinned(std::size_t bytes);

/// Copies between two devices, one of which is a GPU. Copies between GPUs are queued after all work on both; others
/// are done on return.
void copy(std::byte* target, const std::string& target_device, const std::byte* source,
          const std::string& source_device, std::size_t bytes);

/// Queues a copy within one GPU of runs of bytes, which lie without gaps at the source and a stride apart at the
/// target.
void copy_runs(std::byte* target, std::size_t target_stride, const std::byte* source, std::size_t run_bytes,
               std::size_t run_count, const std::string& device);

/// Queues zeros.
void set_zero(std::byte* target, const std::string& device, std::size_t bytes);

memory_statistics statistics_of_memory(const std::string& device);
memory_statistics statistics_of_pinned_memory();
/// What of the host's pinned memory is kept for reuse.
inline constexpr std::size_t kept_pinned_bytes_max = std::size_t{1} << 30;
/// Gives it back to the system.
void release_kept_pinned_memory();

/// The most that this process may use and keep on the device, in bytes; what is in use stays.
void set_memory_limit(const std::string& device, std::size_t bytes);

/// Gives the memory that is kept for reuse back to CUDA, for other users of the GPU.
void release_kept_memory(const std::string& device);

}  // namespace troupe::cuda
