// A device that shards of this server are on, and how long their operations wait for it.
//
// Problem: who waits for a device that hangs keeps a thread of the server for the whole limit, and so does each next
// operation; soon nothing else is served, not even variables in the host's memory. Solution: all shards on a device
// know whether the last operation there was late. If so, the next have the shorter limit, until one ends in time.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/device/accelerators/device_waits.hpp>

#include <atomic>
#include <utility>

namespace troupe {

class served_device {
 public:
  served_device(duration limit, duration limit_when_late) : limit_(limit), limit_when_late_(limit_when_late) {}

  /// Does it in the calling thread; waits for devices end with the limit. Throws what `work` throws, and
  /// deadline_exceeded_error that says so when the limit was the shorter. Any thread, any number at once.
  template <class Work>
  void use(Work&& work) {
    const auto was_late = is_late_.load(std::memory_order_relaxed);
    const device_waits_until end{std::chrono::steady_clock::now() + (was_late ? limit_when_late_ : limit_)};
    try {
      std::forward<Work>(work)();
    } catch (const device_is_late_error& late) {
      is_late_.store(true, std::memory_order_relaxed);
      if (was_late) throw_is_late_again(late);
      throw;
    }
    if (was_late) is_late_.store(false, std::memory_order_relaxed);
  }

 private:
  [[noreturn]] void throw_is_late_again(const device_is_late_error& late) const;

  const duration limit_;
  const duration limit_when_late_;
  std::atomic<bool> is_late_ = false;
};

}  // namespace troupe
