// The actors of a chief, as those who have spawned them hold them.
#pragma once

#include <troupe/actors/closures/internal/submission_queue.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/member_context.hpp>

#include <caf/typed_actor.hpp>

#include <memory>

namespace troupe {

struct chief_actors {
  std::shared_ptr<submission_queue> queue;
  dialer_actor dialer;
  event_bus_actor events;
  /// What variables hold.
  client_ptr client;
  coordinator_actor coordinator;
  /// What remote values hold.
  coordinator_ptr shared_coordinator;
  membership_actor membership;
  directory_actor directory;
  closure_desk_actor closures;
  /// What the application has on the chief.
  std::shared_ptr<member_context> application;
};

}  // namespace troupe
