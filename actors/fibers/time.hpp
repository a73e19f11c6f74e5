// The times that limits, deadlines and waits are given in.
#pragma once

#include <chrono>
#include <cstdint>

namespace troupe {

/// Of the clock that CAF's actors live by; virtual in a simulation.
using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::nanoseconds;

/// A time that does not come.
inline constexpr time_point never = time_point::max();

/// `delay` after `start`; `never` if that lies beyond the clock's end, as it does for `duration::max()`.
constexpr time_point later(time_point start, duration delay) { return delay < never - start ? start + delay : never; }

/// For messages.
constexpr std::int64_t in_milliseconds(duration x) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(x).count();
}

}  // namespace troupe
