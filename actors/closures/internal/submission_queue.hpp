// Where callers leave closures for the coordinator.
//
// A message for each closure would cost more than the closure: callers append to this queue and only the first one
// after a drain wakes the coordinator. The queue also counts every closure that has not ended: that count is the limit
// that `schedule` waits at, as in the reference (closures that a worker gives back never wait: they are counted
// already).
#pragma once

#include <troupe/actors/closures/closure.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

class submission_queue {
 public:
  static constexpr std::size_t capacity_default = 256 * 1024;

  explicit submission_queue(std::size_t capacity = capacity_default) : capacity_(capacity) {}

  /// Appends, waiting for room up to the closure's `queue_limit`: parks a fiber, blocks a thread. True: the caller must
  /// wake the coordinator.
  /// @throws resource_exhausted_error when there is still no room; what `close` was given after the coordinator's end;
  /// cancelled_error when the fiber is cancelled meanwhile.
  bool push(std::shared_ptr<closure> scheduled);

  struct attempt {
    /// The caller must wake the coordinator.
    bool wakes = false;
    /// Null: it was appended. Else there is no room, and this is set when that may have changed.
    std::shared_ptr<completion> full;
  };
  /// Takes it if there is room, and leaves it otherwise; never waits. @throws what `close` was given after the
  /// coordinator's end.
  attempt try_push(std::shared_ptr<closure>& scheduled);
  /// Of one that has waited for room for so long.
  status had_no_room(duration limit);

  /// Takes all that was pushed; returns how many of those are for any worker at once. The coordinator's side.
  std::size_t drain(std::vector<std::shared_ptr<closure>>& into);
  /// So many closures have ended.
  void release(std::size_t count);
  /// Refuses later closures and ends those that wait here.
  void close(const status& why);

  /// An error waits to be raised by the next schedule, join or done.
  std::atomic<bool> error_pending{false};

 private:
  // Under the mutex.
  /// Null: there is room, or the queue is closed. Else what is set when that may have changed.
  std::shared_ptr<completion> full();

  const std::size_t capacity_;
  std::mutex mutex_;
  /// Set when closures end or the queue does; another one for those that wait then. Null while nobody waits.
  std::shared_ptr<completion> change_;
  std::vector<std::shared_ptr<closure>> pushed_;
  std::size_t pushed_for_any_ = 0;
  std::size_t unfinished_ = 0;
  status closed_;
};

}  // namespace troupe
