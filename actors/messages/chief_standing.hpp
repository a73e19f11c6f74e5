// Which process is the chief of this one, for whoever has to tell its messages from those of others (link_rules.hpp).
//
// The door of a member knows, and says so here; the middleman's thread asks for each message that only a chief may
// send. Several simulated processes may live in one, so what is known belongs to an actor system.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/node_id.hpp>

namespace troupe {

/// What one door knows. Forgotten with it.
class chief_standing {
 public:
  explicit chief_standing(const caf::actor_system& of);
  ~chief_standing();
  chief_standing(const chief_standing&) = delete;
  chief_standing& operator=(const chief_standing&) = delete;

  /// This process has taken the door's in.
  void adopt(const caf::node_id& chief);

 private:
  const caf::actor_system& of_;
};

/// Whether some door of this system belongs to that process. Any thread.
bool is_chief_of(const caf::actor_system& system, const caf::node_id& process);

/// Whether any process has taken some door of this system in. Any thread.
bool has_chief(const caf::actor_system& system);

}  // namespace troupe
