// Ends objects that must not end on the thread that lets go of them last.
//
// Problem: the end of some objects waits for threads or callbacks of their own: a strategy's replicas, an actor system,
// a connection of gRPC. Handles on them are dropped by whoever has them last, and that may be one of those very
// threads, which can't wait for itself. Solution: such an object is handed over here, and a thread that lives for that
// one end waits instead.
//
// R-1 The thread that hands over waits for nothing. R-2 Each end has a thread of its own, so that none waits for
// another one's. R-3 The process's end waits for open ends, at most `exit_limit`; what has not ended then (a replica
// that computes for ever) is left to the operating system.
#pragma once

#include <troupe/actors/fibers/completion.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe {

/// All members from any thread.
class reaper {
 public:
  static constexpr duration exit_limit = std::chrono::seconds{5};

  /// The process's.
  static reaper& instance();

  reaper() : shared_(std::make_shared<ends>()) {}
  ~reaper();
  reaper(const reaper&) = delete;

  /// Destroys the object, if this was its last handle, soon and elsewhere.
  void take(std::shared_ptr<void> last) noexcept;
  /// Ends that go on.
  std::size_t open() const;
  /// Whether no end goes on, at the latest after `limit`. Not from an object's end.
  bool wait_until_idle(duration limit);

 private:
  struct ends {
    mutable std::mutex mutex;
    /// Null while nobody waits for the last end.
    std::shared_ptr<completion> idle;
    std::list<std::thread> open;
    /// Those that have said their last word here.
    std::list<std::thread> over;
  };

  static void run(const std::shared_ptr<ends>& shared, std::list<std::thread>::iterator self,
                  std::shared_ptr<void> last);
  void join_those_that_are_over();

  std::shared_ptr<ends> shared_;
};

}  // namespace troupe
