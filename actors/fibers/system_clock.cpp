#include <troupe/actors/fibers/simulated_surroundings.hpp>
#include <troupe/actors/fibers/system_clock.hpp>

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

namespace troupe {

system_clock::time_point system_clock::now() {
  auto* const system = simulated_system();
  if (system == nullptr) return std::chrono::system_clock::now();
  constexpr time_point beginning{std::chrono::seconds{1'000'000'000}};
  return beginning + std::chrono::duration_cast<duration>(system->clock().now().time_since_epoch());
}

}  // namespace troupe
