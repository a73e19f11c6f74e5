// Actors that compute for long or wait for hardware have a thread of their own, unless nothing has one: in a simulation
// they take turns with all others, since no seed controls a thread.
#pragma once

#include <troupe/actors/fibers/blocking_fiber.hpp>
#include <troupe/actors/fibers/simulated_surroundings.hpp>

#include <caf/actor_system.hpp>
#include <caf/infer_handle.hpp>
#include <caf/spawn_options.hpp>

#include <type_traits>
#include <utility>

namespace troupe {

inline bool has_threads(const caf::actor_system& system) { return simulated_surroundings::of(system) == nullptr; }

/// `system.spawn<Options>`, but detached and blocking actors have a thread only where there are threads; a blocking one
/// is a fiber elsewhere (blocking_fiber.hpp).
template <caf::spawn_options Options, class F, class... Ts>
auto spawn_where_threads_are(caf::actor_system& system, F body, Ts&&... arguments) {
  constexpr auto attached =
      static_cast<caf::spawn_options>(static_cast<int>(Options) & ~static_cast<int>(caf::spawn_options::detach_flag));
  if (!has_threads(system)) {
    if constexpr (std::is_same_v<caf::infer_impl_from_fun_t<F>, caf::blocking_actor>)
      return spawn_blocking_fiber<attached>(system, std::move(body), std::forward<Ts>(arguments)...);
    else
      return system.template spawn<attached>(std::move(body), std::forward<Ts>(arguments)...);
  }
  return system.template spawn<Options>(std::move(body), std::forward<Ts>(arguments)...);
}

/// `system.spawn<caf::detached>` where there are threads.
template <class... Ts>
auto spawn_with_thread(caf::actor_system& system, Ts&&... arguments) {
  return spawn_where_threads_are<caf::detached>(system, std::forward<Ts>(arguments)...);
}

}  // namespace troupe
