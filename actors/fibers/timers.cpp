#include <troupe/actors/fibers/timers.hpp>

#include <caf/actor_cast.hpp>
#include <caf/error.hpp>
#include <caf/unit.hpp>

namespace troupe {

timers::ticket timers::at(time_point when, std::function<void()> work) {
  const ticket result{when, ++last_number_};
  open_.emplace(key{when, result.number}, std::move(work));
  if (when < armed_) arm();
  return result;
}

void timers::arm() {
  armed_ = open_.begin()->first.first;
  const auto id = self_->new_request_id(caf::message_priority::high).response_id();
  self_->clock().set_request_timeout(armed_, self_, id);
  auto due = [this, alive = alive_, when = armed_] {
    // A timer that was overtaken by an earlier one has nothing left to do.
    if (*alive && armed_ == when) fire();
  };
  self_->add_multiplexed_response_handler(id,
                                          caf::behavior{[due](caf::unit_t) { due(); }, [due](caf::error&) { due(); }});
}

void timers::fire() {
  armed_ = time_point::max();
  const auto alive = alive_;
  const auto reached = now();
  for (auto left = turn_max; left != 0 && *alive && !open_.empty() && open_.begin()->first.first <= reached; --left) {
    auto work = std::move(open_.begin()->second);
    open_.erase(open_.begin());
    work();
  }
  if (*alive && !open_.empty() && open_.begin()->first.first < armed_) arm();
}

}  // namespace troupe
