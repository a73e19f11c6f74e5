// Lets the faults of a plan happen in a world: at their times, when their conditions hold, to their messages and
// tensors, and at their points in the application's code.
#pragma once

#include <troupe/device/tensor/allocation_listener.hpp>
#include <troupe/runtime/fault_point.hpp>
#include <troupe/runtime/simulation/world_implementation.hpp>

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class fault_player final : public simulated_network::watcher, public fault_point_listener, public allocation_listener {
 public:
  /// Both outlive it.
  fault_player(simulated_world& world, simulated_world::implementation& all, const fault_plan& plan);
  ~fault_player() override;
  fault_player(const fault_player&) = delete;

  void happened(const std::string& what);
  simulated_network::fate sent(host_number from, host_number to, std::span<const char> message) override;
  void reached(const char* point) override;
  void allocating(std::size_t bytes) override;
  std::vector<fault_coverage> coverage() const;

 private:
  struct site {
    planned_fault what;
    /// How often what it waits for has happened.
    std::uint64_t seen = 0;
    std::uint64_t fired = 0;
    std::optional<agenda::alarm> alarm;
  };

  bool fits(const message_pattern& pattern, host_number from, host_number to, std::span<const char> message) const;
  void arm(site& which, duration after);
  /// Counts; arms it if that was the time.
  void see(site& which);
  bool fire(site& which);
  void apply(const planned_fault& what);

  simulated_world& world_;
  simulated_world::implementation& all_;
  std::deque<site> sites_;
  std::map<std::string, std::uint64_t> points_;
};

}  // namespace troupe
