// A member's own event bus: passes on what the chief's says, one message for each process however many listen there.
#pragma once

#include <troupe/actors/membership/event_bus.hpp>
#include <troupe/actors/offers/actor_reference.hpp>

namespace troupe {

/// Listens at `chief` each time that it is found.
event_bus_actor::behavior_type event_relay(event_bus_actor::stateful_pointer<event_bus_state> self,
                                           const actor_reference<event_bus_actor>& chief);

}  // namespace troupe
