#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/runtime/cluster/system_scope.hpp>

#include <caf/actor_system.hpp>
#include <caf/logger.hpp>

namespace troupe {

system_scope::~system_scope() {
  // A fiber's thread goes back to the system of the fiber's actor.
  auto* const host = fiber_host::current();
  caf::logger::set_current_actor_system(host != nullptr ? &host->clock().self()->home_system() : nullptr);
}

}  // namespace troupe
