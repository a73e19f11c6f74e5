// Memory of a device, kept for reuse. Private to the CUDA part; knows no CUDA itself, so that it is tested without.
//
// Problem: cudaMalloc and cudaFree wait for the device and take up to milliseconds; a training step that allocates its
// gradients anew would spend its time there. So blocks that are given back are kept and handed out again. Sizes are
// rounded up to classes, at most an eighth larger, and a block serves only its own class: what a step allocated, the
// next one finds, and nothing ever has to be joined or split.
//
// Order of use: a block may be given back while work that uses it is still queued on the device. It is handed out again
// at once, which is right if, and only if, all work on the blocks of one allocator is queued on one stream. That is why
// every device computes on one stream, and why others of its streams need upload_memory.hpp, or order
// (accelerator::wait_for_collectives).
//
// When the source of memory, or the limit, refuses a request, all kept blocks are released before it is tried again;
// before that, whoever keeps blocks of this allocator for a use of his own gives them back.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// What an allocator has done so far. Sizes are those of the classes, in bytes.
struct memory_statistics {
  std::size_t used_bytes = 0;        // handed out now
  std::size_t used_bytes_max = 0;    // the most that was ever handed out
  std::size_t kept_bytes = 0;        // waiting for reuse
  std::size_t allocation_count = 0;  // requests that went to the source
  std::size_t reuse_count = 0;       // requests that were served without it
};

/// Thread-safe. All blocks must be given back before it is destroyed.
class caching_allocator {
 public:
  struct memory_source {
    /// Null when there is no memory; throws for any other failure.
    std::function<void*(std::size_t bytes)> allocate;
    /// Must not throw.
    std::function<void(void*)> release;
    /// Gives blocks back that are in use only for being kept; must not throw. May be empty.
    std::function<void()> reclaim = {};
  };
  struct taken_block {
    void* memory = nullptr;
    /// Fresh from the source: no queued work uses it.
    bool is_new = false;
  };
  static constexpr std::size_t no_limit = ~std::size_t{0};

  /// `name` is what errors call the memory, such as "GPU:0".
  caching_allocator(std::string name, memory_source source) : name_(std::move(name)), source_(std::move(source)) {}
  caching_allocator(const caching_allocator&) = delete;
  caching_allocator& operator=(const caching_allocator&) = delete;
  ~caching_allocator() { release_kept(); }

  /// A block of at least so many bytes (not 0). Throws resource_exhausted_error that names the sizes.
  taken_block take(std::size_t bytes);
  /// A block from take(bytes), with the same number.
  void give(void* block, std::size_t bytes) noexcept;

  /// Gives everything that is kept back to the source.
  void release_kept() noexcept;
  /// The most that may be used and kept together. What is used already stays.
  void set_limit(std::size_t bytes);
  /// The most that may be kept: blocks that are given back beyond it go to the source at once.
  void keep_at_most(std::size_t bytes);
  memory_statistics statistics() const;

  /// The size of the block that serves a request.
  static std::size_t size_class(std::size_t bytes);

 private:
  void* take_kept(std::size_t size);
  bool keep(void* block, std::size_t size) noexcept;
  void* take_new(std::size_t size);
  [[noreturn]] void throw_exhausted(std::size_t bytes) const;

  const std::string name_;
  const memory_source source_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> kept_;  // by size class
  std::size_t limit_bytes_ = no_limit;
  std::size_t kept_bytes_max_ = no_limit;
  memory_statistics statistics_;
};

}  // namespace troupe
