// Waiting for another core for a moment before the kernel's help is asked for. Private to the library.
//
// What a thread waits for in a collective, or for a closure, is mostly only microseconds away, and a sleep with its
// wake-up takes longer than that. So: first look again and again, for as long as a message between two cores takes at
// most; then let others run between the looks, for as long as sleeping and waking would take. That costs at most about
// twice what the best choice would. On a machine that is busy with other things a yield gives a whole time slice away:
// then sleeping is better, and for a while nothing else is tried.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace troupe {

/// For any number of threads that wait for the same kind of thing.
class spin_wait {
 public:
  using clock = std::chrono::steady_clock;

  /// Looks for a while, at most until the deadline, whether `done()`; says whether it was.
  template <class Done>
  bool until(clock::time_point deadline, Done done) noexcept {
    for (auto i = 0; i < looks; ++i) {
      if (done()) return true;
      pause();
    }
    auto now = clock::now();
    if (now < busy_until_.load(std::memory_order_relaxed)) return false;
    for (const auto end = std::min<clock::time_point>(now + yielding_time, deadline); now < end;) {
      std::this_thread::yield();
      if (done()) return true;
      const auto before = std::exchange(now, clock::now());
      if (now - before > yield_time_max) busy_until_.store(now + busy_time, std::memory_order_relaxed);
    }
    return false;
  }

 private:
  static constexpr int looks = 200;
  static constexpr std::chrono::microseconds yielding_time{50};
  static constexpr std::chrono::microseconds yield_time_max{200};
  static constexpr std::chrono::milliseconds busy_time{100};

  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<clock::time_point> busy_until_{};
};

}  // namespace troupe
