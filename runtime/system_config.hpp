// The actor system's configuration that `run` uses, and that an application may use or imitate.
#pragma once

#include <caf/fwd.hpp>

#include <memory>

namespace troupe {

/// Troupe's messages, the scheduler policy that wakes actors fastest when there is little to do, and, for a cluster of
/// several processes, the middleman.
///
///   troupe::system_config config{true};
///   config->set("scheduler.max-threads", 2u);
///   caf::actor_system system{config};
///
/// It owns CAF's object, so that only programs with an actor system of their own include CAF's headers. A config class
/// of the application's own calls `add_troupe_types` in its constructor instead.
class system_config {
 public:
  explicit system_config(bool networked);
  ~system_config();

  operator caf::actor_system_config&() const { return *config_; }  // NOLINT(google-explicit-constructor)
  caf::actor_system_config* operator->() const { return config_.get(); }

 private:
  std::unique_ptr<caf::actor_system_config> config_;
};

}  // namespace troupe
