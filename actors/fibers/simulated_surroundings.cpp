#include <troupe/actors/fibers/simulated_surroundings.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace troupe {

namespace {

thread_local caf::actor_system* system_here = nullptr;

}  // namespace

const simulated_surroundings* simulated_surroundings::of(const caf::actor_system& system) {
  return dynamic_cast<const simulated_surroundings*>(&system.config());
}

caf::actor_system* simulated_system() { return system_here; }

simulated_system_scope::simulated_system_scope(caf::actor_system* system)
    : around_(std::exchange(system_here, system)) {}
simulated_system_scope::~simulated_system_scope() { system_here = around_; }

}  // namespace troupe
