// Memory of an emulated device. Private to the emulation.
//
// A block has two ranges of addresses. Those that host code gets can't be touched: reading or writing one ends the
// process with a segmentation fault, as an address of a GPU does. By the others, right behind them, the device's thread
// works on the bytes.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace troupe::emulation {

/// Thread-safe.
class device_memory {
 public:
  /// Null when the system has none. Filled with bytes that no program expects.
  void* allocate(std::size_t bytes);
  void release(void* block) noexcept;

  /// Where the device's thread finds the bytes from this address on. Throws invalid_argument_error unless all `bytes`
  /// of them are of one block.
  std::byte* reach(const std::byte* address, std::size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  /// Where a block begins, and its size, which is the distance between its two ranges.
  std::map<const std::byte*, std::size_t> blocks_;
};

}  // namespace troupe::emulation
