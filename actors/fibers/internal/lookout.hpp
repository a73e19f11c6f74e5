// Whether the thread of a detached actor that has nothing to do looks out for the next message or sleeps.
//
// A caller that makes one call after the other is answered without waking a thread, if whoever works for it looks out
// for as long as the last call was in coming. Whoever is called rarely sleeps.
#pragma once

#include <troupe/actors/fibers/internal/keep_awake.hpp>
#include <troupe/actors/fibers/timers.hpp>

#include <utility>

namespace troupe {

class lookout {
 public:
  /// About what a call over a network and back takes.
  static constexpr duration limit = std::chrono::microseconds{500};

  lookout(caf::scheduled_actor* self, timers& clock) : clock_(clock), awake_(self, limit) {}

  /// Work has come.
  void work_came() {
    if (idle_since_ != never) expects_more_ = clock_.now() - std::exchange(idle_since_, never) < limit;
  }
  /// There is nothing to do any more, and answers have been sent: the last of a handler. Returns when there is a
  /// message, or after a moment.
  void idle() {
    if (idle_since_ != never) return;
    idle_since_ = clock_.now();
    if (expects_more_) awake_.wait();
  }
  /// Whether the last work came soon after the actor had nothing to do.
  bool expects_more() const { return expects_more_; }

 private:
  timers& clock_;
  keep_awake awake_;
  /// `never` while there is work.
  time_point idle_since_ = never;
  bool expects_more_ = false;
};

}  // namespace troupe
