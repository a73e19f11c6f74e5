#include <troupe/device/accelerators/device_waits.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {

namespace {

std::atomic<device_patience> patience_of_threads{nullptr};

thread_local auto deadline_here = std::chrono::steady_clock::time_point::max();

}  // namespace

void set_device_patience(device_patience patience) noexcept { patience_of_threads = patience; }

std::chrono::steady_clock::time_point device_wait_deadline() {
  const auto patience = patience_of_threads.load();
  const std::chrono::nanoseconds limit = device_wait_limit;
  return std::min(deadline_here, std::chrono::steady_clock::now() + (patience ? std::min(patience(), limit) : limit));
}

device_waits_until::device_waits_until(std::chrono::steady_clock::time_point deadline) noexcept
    : before_(std::exchange(deadline_here, std::min(deadline_here, deadline))) {}

device_waits_until::~device_waits_until() { deadline_here = before_; }

void throw_device_is_late(const std::string& device, std::string_view where) {
  throw device_is_late_error{fmt::format(
      "{} has not come to the end of its work in time: {}; if it hangs, go on with the devices that are left", device,
      where)};
}

}  // namespace troupe
