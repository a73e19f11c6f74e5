// Actors that compute for long or wait for hardware have a thread of their own, unless nothing has one: in a simulation
// they take turns with all others, since no seed controls a thread.
#pragma once

#include <troupe/actors/fibers/simulated_surroundings.hpp>

#include <caf/actor_system.hpp>
#include <caf/spawn_options.hpp>

#include <utility>

namespace troupe {

inline bool has_threads(const caf::actor_system& system) { return simulated_surroundings::of(system) == nullptr; }

/// `system.spawn<caf::detached>` where there are threads.
template <class... Ts>
auto spawn_with_thread(caf::actor_system& system, Ts&&... arguments) {
  if (has_threads(system)) return system.spawn<caf::detached>(std::forward<Ts>(arguments)...);
  return system.spawn(std::forward<Ts>(arguments)...);
}

}  // namespace troupe
