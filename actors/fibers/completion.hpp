// Something that happens once and that others wait for: a thread blocks, a fiber suspends.
#pragma once

#include <troupe/actors/fibers/timers.hpp>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

namespace troupe {

class completion {
 public:
  completion() = default;
  completion(const completion&) = delete;

  /// Any thread; later calls do nothing.
  void set();
  bool is_set() const;
  /// Returns when `set` was called. Inside a fiber it suspends the fiber, elsewhere it blocks the thread.
  /// @throws deadline_exceeded_error with `what` in its message; cancelled_error when the fiber is cancelled.
  void wait_until(time_point deadline, std::string_view what);

 private:
  void wait_in_fiber(class fiber_host& host, time_point deadline, std::string_view what);
  void wait_in_thread(time_point deadline, std::string_view what);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
  std::vector<std::function<void()>> notifiers_;
};

}  // namespace troupe
