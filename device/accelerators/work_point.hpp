// A point in a device's queue of work. Each kind of accelerator has its own.
#pragma once

#include <chrono>

namespace troupe {

/// Any thread may call these, one at a time.
class work_point {
 public:
  virtual ~work_point() = default;
  work_point(const work_point&) = delete;
  work_point& operator=(const work_point&) = delete;

  /// Whether the work before it is done. Throws what went wrong in it.
  virtual bool is_reached() = 0;
  /// Blocks the calling thread until it is; false at the deadline. Throws as above.
  [[nodiscard]] virtual bool wait_until(std::chrono::steady_clock::time_point deadline) = 0;

 protected:
  work_point() = default;
};

}  // namespace troupe
