// Large memory blocks, recycled inside the process. Private to buffer.cpp.
//
// Problem: memory that comes fresh from the kernel costs a page fault per page, and those faults, not the copying,
// bound how fast a large tensor is received: on the development machine a copy into a fresh 64 MiB block runs at 2
// GB/s, into a fresh block on huge pages at 6 GB/s, into one that was used before at 12 GB/s. So: a freed block of at
// least block_bytes_min is kept and handed out again, and blocks of several megabytes ask for huge pages. What is kept
// is bounded by kept_bytes_max, oldest out first, and where it lies on huge pages the kernel may take it back when
// memory runs short.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace troupe {

/// Memory of at least one page, page-aligned; its contents are indeterminate.
struct memory_block {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};

/// Thread-safe.
class block_cache {
 public:
  static constexpr std::size_t block_bytes_min = std::size_t{1} << 20;
  static constexpr std::size_t kept_bytes_max = std::size_t{1} << 30;

  /// The process's cache. Never destroyed: buffers with static storage duration give their blocks back at exit.
  static block_cache& instance();

  /// A kept block that fits (at most 1/8 larger than a new one), or a new one, of at least block_bytes_min.
  /// Throws std::bad_alloc.
  memory_block take(std::size_t bytes);
  /// Keeps a block from take(), or frees it when it is larger than all that may be kept.
  void give(memory_block block) noexcept;
  std::size_t kept_bytes() const;

 private:
  block_cache();
  /// Keeps the block and returns null, or takes the oldest block out to make room and returns it for freeing.
  void* keep_or_drop_oldest(memory_block block) noexcept;

  mutable std::mutex mutex_;
  std::vector<memory_block> kept_;  // oldest first
  std::size_t kept_bytes_ = 0;
};

}  // namespace troupe
