// How long a thread waits for a device.
//
// A device can hang: in a kernel that does not end, in a collective whose other ranks are gone, with a driver that does
// not come back. Nobody shall hang with it, so every wait for one has a limit. By default it is long, since honest work
// may be long; where a program's runtime knows by when a thread's work has to be done, it says so here.
#pragma once

#include <troupe/device/base/error.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace troupe {

inline constexpr auto device_wait_limit = std::chrono::hours{1};

/// Who knows how long the calling thread may wait; asked at each wait. More than device_wait_limit counts as that.
using device_patience = std::chrono::nanoseconds (*)();
/// Null for device_wait_limit alone, as at first.
void set_device_patience(device_patience patience) noexcept;

/// While it lives, this thread waits for devices until then at most. No fiber of the thread may switch meanwhile.
class device_waits_until {
 public:
  explicit device_waits_until(std::chrono::steady_clock::time_point deadline) noexcept;
  ~device_waits_until();
  device_waits_until(const device_waits_until&) = delete;
  device_waits_until& operator=(const device_waits_until&) = delete;

 private:
  const std::chrono::steady_clock::time_point before_;
};

/// When a wait that begins now has to end.
std::chrono::steady_clock::time_point device_wait_deadline();

/// A wait for a device was over before its work.
class device_is_late_error : public deadline_exceeded_error {
 public:
  using deadline_exceeded_error::deadline_exceeded_error;
};

/// device_is_late_error; `where`: what the device does, as far as known.
[[noreturn]] void throw_device_is_late(const std::string& device, std::string_view where);

}  // namespace troupe
