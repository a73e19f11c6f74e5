// Connects of one simulated process.
#pragma once

#include <troupe/runtime/simulation/simulated_network.hpp>

namespace troupe {

class simulated_connector final : public connector {
 public:
  /// The process outlives its actors.
  explicit simulated_connector(simulated_process& process) : process_(process) {}

  void connect(const task_address& where, duration limit, ended done) override {
    process_.network().connect(process_, where, limit, std::move(done));
  }
  void close(caf::io::connection_handle which) override { process_.network().abandon(process_, which); }

 private:
  simulated_process& process_;
};

}  // namespace troupe
