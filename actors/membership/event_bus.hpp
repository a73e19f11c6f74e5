// Passes each event on to everyone who listens: applications' actors, logs, metrics, tests.
//
// Listeners are monitored and forgotten when they end. An event is one shared object, however many listen.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <vector>

namespace troupe {

struct event_bus_state {
  static constexpr const char* name = "event_bus";
  std::vector<event_listener> listeners;
};

event_bus_actor::behavior_type event_bus(event_bus_actor::stateful_pointer<event_bus_state> self);

}  // namespace troupe
