// A thread that interrupts a call which has not ended by its deadline, for waits that have no deadline of their own.
// Private to the library.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace troupe {

class deadline_watch {
 public:
  using clock = std::chrono::steady_clock;

  /// `interrupt` is called on the watch's thread, never after disarm() has returned.
  explicit deadline_watch(std::function<void()> interrupt);
  ~deadline_watch();
  deadline_watch(const deadline_watch&) = delete;
  deadline_watch& operator=(const deadline_watch&) = delete;

  /// Cheap: the thread mostly sleeps on, towards a deadline of before.
  void arm(clock::time_point deadline);
  void disarm() noexcept;

 private:
  void run();

  std::function<void()> interrupt_;
  std::mutex mutex_;
  std::condition_variable changed_;
  clock::time_point deadline_ = clock::time_point::max();  // max: not armed
  clock::time_point sleeps_until_ = clock::time_point::max();
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace troupe
