// Bare CUDA and bare NCCL, for comparison. Without CUDA (or NCCL) constructing them throws unavailable_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace troupe::tools {

/// Copies between pinned host memory and the first GPU.
class pinned_copy {
 public:
  explicit pinned_copy(std::size_t bytes);
  ~pinned_copy();
  pinned_copy(const pinned_copy&) = delete;

  /// Return when the copy is done.
  void copy_to_gpu();
  void copy_to_host();

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

/// Works on the first GPU's default stream.
class bare_gpu {
 public:
  explicit bare_gpu(std::size_t bytes);
  ~bare_gpu();
  bare_gpu(const bare_gpu&) = delete;

  /// Queues a copy of all the bytes from one place of its memory to another.
  void copy();
  /// Queues the smallest piece of work there is.
  void set_few_bytes();
  void synchronize();

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

/// One rank on each of the first GPUs.
class bare_nccl {
 public:
  bare_nccl(int ranks, std::int64_t floats);
  ~bare_nccl();
  bare_nccl(const bare_nccl&) = delete;

  /// From one thread for each rank, all at once; returns when they are done.
  void all_reduce(int rank, int rounds);

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe::tools
