// Memory of a device for what comes from its host while the device works. Private to the kinds of accelerators.
//
// Problem: the input of the next step shall cross while the device computes this one, so it has a stream of its own.
// But memory that is kept for reuse is handed out while queued work still uses it (caching_allocator.hpp), which suits
// only those who queue behind that work; a copy of another stream would overwrite it. Solution: what was uploaded into
// comes back together with the point that the device's work has got to, and is taken again when that is reached. A few
// blocks of each size, in turn, are enough for input that is fetched some steps ahead.
#pragma once

#include <troupe/device/accelerators/work_point.hpp>
#include <troupe/device/tensor/buffer.hpp>
#include <troupe/device/tensor/internal/caching_allocator.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

/// Thread-safe. Lives as long as the buffers that it has given.
class upload_memory {
 public:
  /// Of one size. Who is so many uploads ahead of the device waits for it.
  static constexpr std::size_t kept_blocks_max = 4;

  /// `device` is the name, `record` the point behind all work that is queued there now.
  upload_memory(std::string device, caching_allocator& blocks, std::function<std::unique_ptr<work_point>()> record)
      : device_(std::move(device)), blocks_(blocks), record_(std::move(record)) {}
  upload_memory(const upload_memory&) = delete;
  upload_memory& operator=(const upload_memory&) = delete;
  ~upload_memory() { give_back(); }

  /// Memory that no queued work uses. Waits for the device only if there is none but such that queued work does use.
  /// Throws resource_exhausted_error, deadline_exceeded_error as device_waits.hpp says, and what went wrong in the
  /// work.
  buffer take(std::size_t bytes);
  /// What is kept goes to the allocator, for whoever queues behind the work.
  void give_back() noexcept;
  /// The allocator's, in which what is kept here is kept, not used.
  memory_statistics statistics() const;

 private:
  struct kept_block {
    void* memory = nullptr;
    /// Null: not known, so perhaps in all that is queued.
    std::unique_ptr<work_point> last_use;
  };

  void* take_unused(std::size_t bytes);
  /// One whose last use is over, or soon will be when there are many.
  std::optional<kept_block> take_kept(std::size_t size);
  void give(void* memory, std::size_t bytes) noexcept;
  bool keep(void* memory, std::size_t size) noexcept;
  /// The block's memory, once its last use is over; whatever fails, the allocator has it again.
  void* when_unused(kept_block block, std::size_t bytes);

  const std::string device_;
  caching_allocator& blocks_;
  const std::function<std::unique_ptr<work_point>()> record_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::deque<kept_block>> kept_;  // by size class, the oldest first
  std::size_t kept_bytes_ = 0;
};

}  // namespace troupe
