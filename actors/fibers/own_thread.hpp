// Actors that compute for long or wait for hardware have a thread of their own, unless nothing has one: in a simulation
// they take turns with all others, since no seed controls a thread.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/spawn_options.hpp>

#include <utility>

namespace troupe {

/// The configuration of a system in which nothing has a thread of its own derives from this.
class without_threads {
 public:
  virtual ~without_threads() = default;

 protected:
  without_threads() = default;
};

bool has_threads(const caf::actor_system& system);

/// `system.spawn<caf::detached>` where there are threads.
template <class... Ts>
auto spawn_with_thread(caf::actor_system& system, Ts&&... arguments) {
  if (has_threads(system)) return system.spawn<caf::detached>(std::forward<Ts>(arguments)...);
  return system.spawn(std::forward<Ts>(arguments)...);
}

/// The system of the fiber that calls, if nothing has a thread there; else null. Whatever makes a system or a thread of
/// its own looks here before.
caf::actor_system* threadless_system();

}  // namespace troupe
