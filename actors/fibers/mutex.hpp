// A mutex that fibers can hold over their waits.
//
// Problem: a `std::mutex` belongs to a thread, and many fibers share one. A fiber that holds one and waits (it reads a
// variable, fetches a value) parks; the next fiber of that thread that locks it blocks the thread, and so the first,
// which would unlock it, never goes on. Solution: a mutex that belongs to the fiber. Who finds it locked parks, and its
// actor hears its messages and runs its other fibers meanwhile; a thread outside of fibers blocks.
//
// X-1 One fiber or thread holds it at a time, whatever threads the fiber goes on on. X-2 Those that wait get it in the
// order in which they came; nobody overtakes them. X-3 A wait ends: with the lock, by the limit, by the cancellation of
// the fiber, or with the mutex. One that ends without the lock leaves nothing behind.
//
// State: who holds it, in one word, with a bit that says that somebody waits. To lock and unlock it while nobody else
// wants it is one change of that word each. Everything else happens under a lock that nobody waits under.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <memory>

namespace troupe {

/// Lockable, so for std::scoped_lock and std::unique_lock. It may be held over every wait of troupe: operations on
/// variables, `fetch`, `sleep_for`, remote calls. Threads and fibers of all actors of a process may share one; in a
/// simulation waits for it take virtual time. Not recursive.
class mutex {
 public:
  static constexpr duration default_limit = std::chrono::seconds{60};

  /// `limit`: the longest that `lock` waits.
  explicit mutex(duration limit = default_limit);
  /// Those that wait for it get a failed_precondition_error. Who holds it must have unlocked it, or never do.
  ~mutex();
  mutex(const mutex&) = delete;

  /// Parks a fiber, blocks a thread, until it has the mutex.
  /// @throws failed_precondition_error when the caller holds it already, or when the mutex is destroyed meanwhile;
  /// deadline_exceeded_error that names who holds it, after the limit; cancelled_error when the fiber is cancelled and
  /// would have to wait.
  void lock();
  /// At once, without waiting. False: somebody holds it, perhaps the caller.
  bool try_lock();
  /// @throws failed_precondition_error when the caller does not hold it. Out of the destructor of a lock that ends the
  /// process, with that message: what the mutex protects is not protected any more.
  void unlock();

 private:
  struct state;
  /// Shared with those that wait, and with who hands it over, for both may go on after the mutex is gone.
  std::shared_ptr<state> state_;
};

}  // namespace troupe
