// A device that shards of this server are on, and how long their operations wait for it.
//
// Problem: who waits for a device that hangs keeps a thread of the server for the whole limit, and so does each next
// operation; soon nothing else is served, not even variables in the host's memory. Solution: all shards on a device
// know when it was late for one of them. Then the next first see whether it answers at all, for a short time, and leave
// it alone if it doesn't.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/device/accelerators/device_waits.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace troupe {

class served_device {
 public:
  /// `name`: any that tensor::copy_to takes.
  served_device(std::string name, duration limit, duration limit_when_late)
      : name_(std::move(name)), limit_(limit), limit_when_late_(limit_when_late) {}

  const std::string& name() const noexcept { return name_; }

  /// Does it in the calling thread; waits for devices end with the limit. Throws what `work` throws, and
  /// deadline_exceeded_error without having begun when the device was late before and does not answer within the
  /// shorter limit. Any thread, any number at once.
  template <class Work>
  void use(Work&& work) {
    if (is_late_.load(std::memory_order_relaxed)) require_answer();
    const device_waits_until end{std::chrono::steady_clock::now() + limit_};
    try {
      std::forward<Work>(work)();
    } catch (const device_is_late_error&) {
      is_late_.store(true, std::memory_order_relaxed);
      throw;
    }
  }

 private:
  void require_answer();

  const std::string name_;
  const duration limit_;
  const duration limit_when_late_;
  std::atomic<bool> is_late_ = false;
};

}  // namespace troupe
