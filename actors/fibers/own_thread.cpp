#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/fibers/timers.hpp>

#include <caf/actor_system_config.hpp>

namespace troupe {

bool has_threads(const caf::actor_system& system) {
  return dynamic_cast<const without_threads*>(&system.config()) == nullptr;
}

caf::actor_system* threadless_system() {
  auto* const host = fiber_host::current();
  if (host == nullptr) return nullptr;
  auto& system = host->clock().self()->system();
  return has_threads(system) ? nullptr : &system;
}

}  // namespace troupe
