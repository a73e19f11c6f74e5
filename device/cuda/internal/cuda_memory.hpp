// Memory of GPUs, pinned memory of the host, and copies between them.
//
// Both kinds of memory are kept for reuse when the last handle on them is gone (caching_allocator.hpp). Private to the
// CUDA part, but for pinned memory.
//
// Errors: as in accelerators.hpp. Any thread may call these.
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

/// Memory on a GPU with these bytes of the host's. Done on return, while queued work goes on.
buffer upload(const std::string& device, const std::byte* source, std::size_t bytes);

/// Done on return, and all work that was queued before.
void copy_from_host(std::byte* target, const std::string& device, const std::byte* source, std::size_t bytes);
void copy_to_host(std::byte* target, const std::byte* source, const std::string& device, std::size_t bytes);
/// Queues a copy between two GPUs, or within one, after all work on both.
void copy_between(std::byte* target, const std::string& target_device, const std::byte* source,
                  const std::string& source_device, std::size_t bytes);

/// Queues a copy within one GPU of runs of bytes, which lie without gaps at the source and a stride apart at the
/// target.
void copy_runs(std::byte* target, std::size_t target_stride, const std::byte* source, std::size_t run_bytes,
               std::size_t run_count, const std::string& device);

/// Queues zeros.
void set_zero(std::byte* target, const std::string& device, std::size_t bytes);

memory_statistics statistics_of_pinned_memory();
/// What of the host's pinned memory is kept for reuse.
inline constexpr std::size_t kept_pinned_bytes_max = std::size_t{1} << 30;
/// Gives it back to the system.
void release_kept_pinned_memory();

}  // namespace troupe::cuda
