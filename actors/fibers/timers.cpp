#include <troupe/actors/fibers/timers.hpp>

#include <caf/actor_cast.hpp>
#include <caf/error.hpp>
#include <caf/unit.hpp>

namespace troupe {

timers::ticket timers::at(time_point when, std::function<void()> work) {
  const ticket result{when, ++last_number_};
  open_.emplace(key{when, result.number}, std::move(work));
  arm(when);
  return result;
}

void timers::arm(time_point when) {
  if (!armed_.need(when)) return;
  const auto id = self_->new_request_id(caf::message_priority::high).response_id();
  self_->clock().set_request_timeout(when, self_, id);
  auto due = [this, alive = alive_, when] {
    if (!*alive) return;
    armed_.pass(when);
    fire();
  };
  self_->add_multiplexed_response_handler(id,
                                          caf::behavior{[due](caf::unit_t) { due(); }, [due](caf::error&) { due(); }});
}

void timers::fire() {
  const auto alive = alive_;
  const auto reached = now();
  for (auto left = turn_max; left != 0 && *alive && !open_.empty() && open_.begin()->first.first <= reached; --left) {
    auto work = std::move(open_.begin()->second);
    open_.erase(open_.begin());
    work();
  }
  if (*alive && !open_.empty()) arm(open_.begin()->first.first);
}

}  // namespace troupe
