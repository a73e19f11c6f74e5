// Tells an actor when an actor that it follows comes and goes.
#pragma once

#include <troupe/actors/offers/actor_link.hpp>

#include <caf/fwd.hpp>

#include <functional>
#include <memory>

namespace troupe {

struct actor_watcher {
  std::function<void(const caf::strong_actor_ptr&)> on_up;
  std::function<void(const status&)> on_down;
};

/// Calls the functions in `self`, in turns, beginning with `on_up`, for as long as `self` lives. Changes that follow
/// each other faster than `self` hears of them are told as one, but a loss is always told.
void watch_link(caf::scheduled_actor* self, std::shared_ptr<actor_link> link, actor_watcher watcher);

}  // namespace troupe
