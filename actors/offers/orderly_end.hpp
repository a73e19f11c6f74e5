// Ends actors one after the other: asks each, waits until it has ended, then asks the next.
//
//   ask (user_shutdown) --limit--> kill --limit--> left behind
//        '---- it has ended ---------'-----'--> the next one
#pragma once

#include <troupe/actors/fibers/timers.hpp>

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/exit_reason.hpp>

#include <deque>
#include <functional>

namespace troupe {

/// Belongs to an actor that monitors those which end.
class orderly_end {
 public:
  /// They end in this order. `leave_behind` hears of each that is not waited for any more.
  orderly_end(timers& clock, duration limit, std::deque<caf::actor> actors,
              std::function<void(const caf::actor&)> leave_behind)
      : clock_(clock), limit_(limit), left_(std::move(actors)), leave_behind_(std::move(leave_behind)) {}
  orderly_end(const orderly_end&) = delete;

  /// Calls `done` when none is left, perhaps now; it may destroy this object.
  void begin(std::function<void()> done);
  /// This actor has ended. False: it is none of these. May call `done`.
  bool forget(const caf::actor_addr& ended);
  /// Those that have not ended yet, for whoever goes on with them; this end is over.
  std::deque<caf::actor> take();

 private:
  void next();
  void ask(caf::exit_reason how);
  void be_late(caf::exit_reason asked);

  timers& clock_;
  const duration limit_;
  std::deque<caf::actor> left_;
  const std::function<void(const caf::actor&)> leave_behind_;
  std::function<void()> done_;
  timers::ticket late_;
};

}  // namespace troupe
