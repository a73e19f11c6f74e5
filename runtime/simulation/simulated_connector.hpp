// Connects of one simulated node.
#pragma once

#include <troupe/runtime/simulation/simulated_network.hpp>

namespace troupe {

class simulated_connector final : public connector {
 public:
  /// The simulation's time is `now`; all three outlive the node's actors.
  simulated_connector(simulated_network& network, simulated_node& node, const time_point& now)
      : network_(network), node_(node), now_(now) {}

  void connect(const task_address& where, duration limit, ended done) override {
    network_.connect(node_, where, limit, std::move(done), now_);
  }
  void close(caf::io::connection_handle which) override;

 private:
  simulated_network& network_;
  simulated_node& node_;
  const time_point& now_;
};

}  // namespace troupe
