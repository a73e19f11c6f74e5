// Ends a process in which one step of a simulation does not end.
//
// Problem: a simulation has one thread. A step that loops for ever, or blocks that thread (a std::mutex that another
// fiber holds over a wait, a socket that nobody answers), stops virtual time, and with it every limit. Solution: a
// timer of real time interrupts the thread. When it finds it twice in the same step, it says on which host that is and
// what runs there, and aborts. A search in several processes goes on, and has found a run that fails.
//
// The signal is SIGRTMAX - 1, "SIG63" of gdb, which is told `handle SIG63 nostop noprint`. A process that stood still
// (a debugger, SIGSTOP) is interrupted once for all that time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace troupe {

class step_watch {
 public:
  /// Of the calling thread. A step may take so long; zero: as long as it likes.
  /// @throws invalid_argument_error for a negative limit; resource_exhausted_error when the system has no timer left
  step_watch(std::uint64_t seed, std::chrono::nanoseconds limit);
  ~step_watch();
  step_watch(const step_watch&) = delete;

  /// A step, while it lives: what this host does, whose name outlives it.
  class step {
   public:
    step(step_watch& of, const std::string& host) : of_(of), around_(of.host_.load(std::memory_order_relaxed)) {
      of.host_.store(&host, std::memory_order_relaxed);
      of.begun_.store(of.begun_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    ~step() { of_.host_.store(around_, std::memory_order_relaxed); }
    step(const step&) = delete;

   private:
    step_watch& of_;
    /// Of the step in which this one is.
    const std::string* around_;
  };

  /// In the signal's handler.
  void look();

 private:
  [[noreturn]] void end_process(const std::string& host) const;

  const std::uint64_t seed_;
  const std::chrono::nanoseconds limit_;
  ::timer_t timer_{};
  // Of one thread and its handler.
  std::atomic<std::uint64_t> begun_{0};
  /// Null: no step goes on.
  std::atomic<const std::string*> host_{nullptr};
  /// As the last look has found it.
  std::uint64_t seen_ = 0;
};

}  // namespace troupe
