// Places in an application's code where a test may let it fail.
//
//   TROUPE_FAULT_POINT("journal: before the sync");
//
// In a simulation whose plan names the point (fault_plan.hpp: fail_at, kill_at, hang_at) it throws unavailable_error
// there, or the process ends there, or the fiber goes no further. Elsewhere it is a look at one variable. In any code,
// in any thread.
#pragma once

#include <atomic>

namespace troupe {

/// Hears of each point that is reached.
class fault_point_listener {
 public:
  virtual ~fault_point_listener() = default;
  /// @throws what is to happen there.
  virtual void reached(const char* point) = 0;
};

namespace detail {

inline std::atomic<fault_point_listener*> fault_points{nullptr};

}  // namespace detail

}  // namespace troupe

#define TROUPE_FAULT_POINT(name)                                                                           \
  do {                                                                                                     \
    if (auto* const listens = ::troupe::detail::fault_points.load(std::memory_order_acquire)) [[unlikely]] \
      listens->reached(name);                                                                              \
  } while (false)
