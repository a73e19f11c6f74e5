// CAF's middleman in a simulated process: the real brokers and protocol on the simulated network.
#pragma once

#include <troupe/runtime/simulation/simulated_multiplexer.hpp>

#include <caf/io/middleman.hpp>

namespace troupe {

class simulated_middleman final : public caf::io::middleman {
 public:
  simulated_middleman(caf::actor_system& system, simulated_process& of)
      : middleman(system), process_(of), multiplexer_(system, of) {}

  caf::io::network::multiplexer& backend() override { return multiplexer_; }
  /// Names the node by its incarnation: CAF's own names tell the nodes of one process apart by one byte.
  void init(caf::actor_system_config& config) override;

 private:
  simulated_process& process_;
  simulated_multiplexer multiplexer_;
};

}  // namespace troupe
