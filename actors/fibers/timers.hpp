// Deadlines of one event-based actor.
//
// Problem: CAF 0.17 arms one entry in its shared, locked clock for each request with a timeout (half of the throughput
// goes there), `delayed_send` can't be cancelled and keeps its receiver alive until it fires. Solution: an actor keeps
// its own ordered list of deadlines, and has CAF timers armed for the earliest of them and for those that were the
// earliest before it (alarms.hpp): as a rule one or two. A timer is a request timeout, which a finished actor simply
// drops.
//
// T-1 A function given to `at` or `after` runs at most once, in the actor, never before its time, never after `cancel`.
// Those that are due together run in the order of their times, and don't keep the actor from its other messages: after
// `turn_max` of them it hears what has come meanwhile.
// Everything here belongs to the actor's own thread of execution; time is the actor clock's, so it is virtual in a
// simulation.
#pragma once

#include <troupe/actors/fibers/alarms.hpp>
#include <troupe/actors/fibers/time.hpp>

#include <caf/actor_clock.hpp>
#include <caf/scheduled_actor.hpp>

#include <functional>
#include <map>
#include <memory>

namespace troupe {

class timers {
 public:
  static constexpr int turn_max = 256;

  /// What `cancel` needs; a default one names nothing.
  struct ticket {
    time_point when{};
    std::uint64_t number = 0;
  };

  explicit timers(caf::scheduled_actor* self) : self_(self) {}
  timers(const timers&) = delete;
  timers& operator=(const timers&) = delete;

  time_point now() const { return self_->clock().now(); }
  /// The actor whose deadlines these are.
  caf::scheduled_actor* self() const { return self_; }
  ticket at(time_point when, std::function<void()> work);
  ticket after(duration delay, std::function<void()> work) { return at(later(now(), delay), std::move(work)); }
  void cancel(const ticket& which) { open_.erase({which.when, which.number}); }
  std::size_t size() const { return open_.size(); }

 private:
  using key = std::pair<time_point, std::uint64_t>;
  void arm(time_point when);
  void fire();

  caf::scheduled_actor* self_;
  std::map<key, std::function<void()>> open_;
  std::uint64_t last_number_ = 0;
  alarms armed_;
  // Timers that CAF still holds when this object is gone must find that out.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

 public:
  ~timers() { *alive_ = false; }
};

}  // namespace troupe
