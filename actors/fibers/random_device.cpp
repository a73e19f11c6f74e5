#include <troupe/actors/fibers/random_device.hpp>
#include <troupe/actors/fibers/simulated_surroundings.hpp>

#include <random>

namespace troupe {

random_device::result_type random_device::operator()() const {
  if (const auto* const system = simulated_system())
    return static_cast<result_type>(simulated_surroundings::of(*system)->random());
  thread_local std::random_device real;
  return static_cast<result_type>(real());
}

}  // namespace troupe
