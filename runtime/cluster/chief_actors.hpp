// The actors of a chief, as those who have spawned them hold them.
#pragma once

#include <troupe/actors/closures/internal/submission_queue.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <caf/typed_actor.hpp>

#include <memory>

namespace troupe {

struct chief_actors {
  std::shared_ptr<submission_queue> queue;
  dialer_actor dialer;
  event_bus_actor events;
  /// What variables hold.
  client_ptr client;
  /// What remote values hold.
  coordinator_ptr coordinator;
  membership_actor membership;
};

}  // namespace troupe
