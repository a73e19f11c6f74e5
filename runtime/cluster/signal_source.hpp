// Signals as events of a poll loop instead of interruptions at any moment.
//
// Problem: what is blocked to be read (signalfd) is blocked in the programs, too, that this process starts, which are
// then deaf to it; and a thread that began before the block takes the signal, and the process ends. Solution: a handler
// that only notes what has come. Any thread may run it, and a program that is executed begins without it.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace troupe {

/// Hears some signals of the process for the life of this object, which ends on the thread that made it; then they do
/// what they did before. Several such objects all hear them. A signal that the process ignored is not heard: nohup, and
/// a shell that starts it in the background, mean that. One that was blocked on the calling thread is let through.
/// System calls of other threads are restarted, but for those that never are (poll, epoll_wait, nanosleep).
class signal_source {
 public:
  /// In one process at a time.
  static constexpr std::size_t sources_max = 64;
  static constexpr auto repetition = std::chrono::milliseconds{100};

  /// @throws resource_exhausted_error when no descriptor or no place is left.
  explicit signal_source(std::initializer_list<int> signals);
  ~signal_source();
  signal_source(const signal_source&) = delete;
  signal_source& operator=(const signal_source&) = delete;

  /// Becomes readable when a signal has arrived, and may do so for none: poll for POLLIN.
  int descriptor_number() const noexcept { return wake_.get(); }
  /// The next signal that has arrived; nothing when there is none. One that came several times since it was last
  /// returned counts once, as for the kernel, and so does one that comes again within `repetition`: timeout(1) sends it
  /// to the process and then to its group. Never blocks.
  std::optional<int> next();

 private:
  static void handle(int number);
  void hear(int number);
  void take_place();

  const descriptor wake_;
  /// One bit for each signal.
  std::uint64_t watched_ = 0;
  std::atomic<std::uint64_t> arrived_{0};
  /// The one that was returned last, and when.
  int last_ = 0;
  std::chrono::steady_clock::time_point last_at_{};
  sigset_t mask_before_;
};

/// From now on a write to a pipe that nobody reads any more fails, and does not end the process, unless the process has
/// settled that itself. Programs that it starts are not concerned.
void outlive_readers();

}  // namespace troupe
