// Something that happens once and that others wait for: the one way in which troupe waits.
//
// A fiber parks, so that its actor goes on hearing its messages and running its other fibers; any other thread blocks.
// Remote values, joins, variable operations of the chief's program, questions to actors (ask.hpp), remote calls, groups
// of processes, runs on replicas, prefetched datasets and sleeps all wait here, so each of them works in a closure, a
// method of a server and a replica's function, and in virtual time in a simulation.
//
// W-1 A wait ends by `set`, by its deadline, or by the cancellation of its fiber (of a thread: its interruption). W-2 A
// wait that ends early leaves nothing behind, neither here nor in its fiber's actor.
//
// It must outlive the waits for it, not the call of `set`: whoever wakes may destroy it.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/device/base/error.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

namespace troupe {

/// Now, on the clock by which waits of the caller are measured: the actor's in a fiber, the process's in a simulation
/// (virtual), the steady clock elsewhere.
time_point current_time();

/// While it lives, on the thread that made it, waits of that thread end when somebody interrupts it: they throw
/// cancelled_error, all of them from then on. Those in destructors that run because of it don't. One for each thread.
class interruption {
 public:
  interruption();
  ~interruption();
  interruption(const interruption&) = delete;

  /// Any thread; later calls do nothing.
  void interrupt(status why);

 private:
  friend class completion;
  /// Of the calling thread; null: nobody interrupts it.
  static interruption* current();
  /// What `interrupt` wakes; null: nothing. False if it was interrupted before.
  bool set_sleeper(std::function<void()> wake);
  void throw_if_interrupted();

  std::mutex mutex_;
  status why_;
  std::function<void()> wake_;
};

class completion {
 public:
  completion() = default;
  completion(const completion&) = delete;

  /// Any thread; later calls do nothing.
  void set();
  bool is_set() const;

  /// Returns when `set` was called. Inside a fiber it suspends the fiber, elsewhere it blocks the thread. False: the
  /// deadline (on the clock of `current_time`) passed first. @throws cancelled_error when the fiber is cancelled.
  bool wait_until(time_point deadline);
  /// The same, but @throws deadline_exceeded_error with `what` in its message when the deadline passes first.
  void wait_until(time_point deadline, std::string_view what);
  /// Blocks the thread, even inside a fiber. For destructors, which no cancellation may cut short, as long as nothing
  /// of the fiber's own actor is waited for. False: not set within the limit.
  bool block_for(duration limit);

  /// Calls `observer` once when it is set: now, in this thread, if it is; else in the thread that sets it.
  void on_set(std::function<void()> observer);

 private:
  struct observer_entry {
    std::uint64_t number;
    std::function<void()> call;
  };

  bool wait_in_fiber(class fiber_host& host, time_point deadline);
  bool wait_in_thread(time_point deadline, interruption* around = nullptr);
  /// Zero: it is set already.
  std::uint64_t add(std::function<void()>& observer);
  /// Calls the observer early, if it is still here.
  void withdraw(std::uint64_t number);

  mutable std::mutex mutex_;
  bool set_ = false;
  std::uint64_t last_number_ = 0;
  std::vector<observer_entry> observers_;
};

}  // namespace troupe
