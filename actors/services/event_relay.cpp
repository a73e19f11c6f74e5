#include <troupe/actors/services/event_relay.hpp>

namespace troupe {

event_bus_actor::behavior_type event_relay(event_bus_actor::stateful_pointer<event_bus_state> self,
                                           const actor_reference<event_bus_actor>& chief) {
  chief.watch(
      self, [self](const event_bus_actor& bus) { self->send(bus, listen_atom_v, event_listener{self}); },
      [](const status&) {});
  return event_bus(self);
}

}  // namespace troupe
