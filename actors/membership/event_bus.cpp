#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/membership/event_bus.hpp>

#include <algorithm>

namespace troupe {

event_bus_actor::behavior_type event_bus(event_bus_actor::stateful_pointer<event_bus_state> self) {
  tolerate_stray_messages(self);
  self->set_down_handler([self](caf::down_msg& down) {
    std::erase_if(self->state.listeners, [&](const auto& listener) { return listener.address() == down.source; });
  });
  return {
      [self](event_atom, wire<event>& what) {
        if (!what.open().ok()) return;
        for (const auto& listener : self->state.listeners) self->send(listener, event_atom_v, what);
      },
      [self](listen_atom, const event_listener& listener) {
        auto& listeners = self->state.listeners;
        if (!listener || std::find(listeners.begin(), listeners.end(), listener) != listeners.end()) return;
        self->monitor(listener);
        listeners.push_back(listener);
      },
  };
}

}  // namespace troupe
