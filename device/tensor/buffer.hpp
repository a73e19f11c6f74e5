// Shared handles on raw memory: what tensors and messages are made of.
//
// Problem: a 1 GiB variable is read by closures, held in remote values, cut into rows and put into messages; copying it
// each time would dominate everything. So memory is shared by counting and never written while it is shared: who wants
// to write asks unique() and copies first if the answer is no (tensor::mutable_values does that).
//
// Invariants: memory that was adopted from somebody else is never written through a buffer, because its owner may share
// it in ways that no count here shows (a mapped file, a part of another buffer, memory of another library). Memory that
// was handed over (take_over) belongs to the buffer alone, as if it had been allocated here: memory of a GPU, or host
// memory that a GPU reaches.
// Handles to one memory may be copied and dropped by any threads at once; a single handle is not for concurrent use.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace troupe {

/// A handle, as small as a pointer, on a range of bytes on one device. Copying shares the bytes.
class buffer {
 public:
  /// Larger requests are refused before the allocator sees them.
  static constexpr std::size_t size_bytes_max = std::size_t{1} << 44;  // 16 TiB
  /// Start of every allocated buffer, in bytes. Buffers of 1 MiB and more start on a page.
  static constexpr std::size_t alignment = 64;

  /// No bytes.
  buffer() noexcept = default;
  buffer(const buffer& other) noexcept : control_(other.control_) {
    if (control_) control_->references.fetch_add(1, std::memory_order_relaxed);
  }
  buffer(buffer&& other) noexcept : control_(std::exchange(other.control_, nullptr)) {}
  buffer& operator=(buffer other) noexcept {
    std::swap(control_, other.control_);
    return *this;
  }
  ~buffer() {
    if (control_ && control_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(control_);
  }

  /// Host memory with indeterminate contents. Large blocks are recycled inside the process.
  /// Throws resource_exhausted_error that names the size.
  static buffer allocate(std::size_t bytes);

  /// Memory that somebody else owns; `owner` is kept until the last handle is gone. It is read only here: unique() is
  /// false, so the first write to a tensor on it copies. `device` is a device name, "CPU:0" for host memory.
  /// Throws invalid_argument_error for null data with a size, or a malformed device name.
  static buffer adopt(std::shared_ptr<void> owner, const void* data, std::size_t bytes, std::string device = "CPU:0");

  /// Memory that belongs to this buffer from now on, so that it may be written: on a GPU (cuda_memory.hpp), or pinned
  /// on the host. `owner` gives it back once the last handle is gone. `device` is a well-formed device name.
  static buffer take_over(std::shared_ptr<void> owner, std::byte* data, std::size_t bytes, std::string device);

  /// A part of these bytes, without copying, as adopted memory that keeps this buffer alive. Throws out_of_range_error.
  buffer slice(std::size_t offset, std::size_t bytes) const;

  const std::byte* data() const noexcept { return control_ ? control_->data : nullptr; }
  std::size_t size_bytes() const noexcept { return control_ ? control_->size : 0; }

  /// True if no other handle shares these bytes, so that they may be written. The last reads of handles that are gone
  /// happened before. False for adopted memory; true for no bytes.
  bool unique() const noexcept {
    if (!control_) return true;
    return !(control_->origin && control_->origin->read_only) &&
           control_->references.load(std::memory_order_acquire) == 1;
  }
  /// Precondition: unique(). Throws failed_precondition_error otherwise.
  std::byte* mutable_data();

  /// Name of the device that holds the bytes, such as "CPU:0".
  const std::string& device() const noexcept;
  /// True if this process's code may read the bytes.
  bool on_host() const noexcept;

 private:
  // What is known of memory that was not allocated here.
  struct foreign {
    std::shared_ptr<void> owner;
    std::string device;
    bool on_host;
    bool read_only;  // adopted
  };
  struct control {
    std::byte* data;
    std::size_t size;
    std::size_t block_capacity = 0;  // of the recycled block, 0 if the bytes follow this struct
    foreign* origin = nullptr;       // owned; null for memory that was allocated here
    std::atomic<std::size_t> references{1};
  };

  explicit buffer(control* owned) noexcept : control_(owned) {}
  static buffer of_origin(foreign origin, std::byte* data, std::size_t bytes);
  static void destroy(control* last) noexcept;

  control* control_ = nullptr;
};

}  // namespace troupe
