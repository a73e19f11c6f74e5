// The actor system's configuration that `run` uses, and that an application may use or imitate.
#pragma once

#include <caf/actor_system_config.hpp>

namespace troupe {

/// Troupe's messages, the scheduler policy that wakes actors fastest when there is little to do, and, for a cluster of
/// several processes, the middleman.
class system_config : public caf::actor_system_config {
 public:
  explicit system_config(bool networked);
};

}  // namespace troupe
