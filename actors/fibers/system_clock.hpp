// The time of day for code that also runs in simulations, where it is the host's own clock: virtual, and wrong if a
// fault has set it.
#pragma once

#include <chrono>

namespace troupe {

/// A clock as std::chrono::system_clock, whose times it gives. A simulation begins at 2001-09-09 01:46:40 UTC.
struct system_clock {
  using duration = std::chrono::system_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::system_clock::time_point;
  static constexpr bool is_steady = false;
  /// Any thread; fibers and handlers.
  static time_point now();
};

}  // namespace troupe
