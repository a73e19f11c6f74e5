// The troupe actors of one process that is a worker or a parameter server, and their life.
//
//   constructed (spawned, published) --> chief adopts --> serves --> wait() returns how it ended --> destroyed
//   (stopped)
//
// A node attaches to an actor system that its application owns and takes nothing else of the process. Stopping is
// orderly and bounded: the actors are asked to end and waited for at most `stop_limit`.
#pragma once

#include <troupe/actors/closures/worker_options.hpp>
#include <troupe/actors/membership/member_end.hpp>
#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/variables/parameter_server_options.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>

#include <caf/fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct node_options {
  worker_options worker;
  parameter_server_options server;
  /// How long a member waits for its chief's first word, and, when their link has broken, to be taken in again.
  duration adoption_limit = std::chrono::minutes{5};
  duration link_loss_max = std::chrono::seconds{1};
  duration stop_limit = std::chrono::seconds{3};
};

/// The identity of this process as that task; a new incarnation at each call.
identity make_identity(const task_id& task);

/// Where a task listens whose address has this host: only there, if it is an IP address or "localhost"; on all
/// addresses if it is a name, which may be a service's and not this machine's own.
std::string listen_address(const std::string& host);

/// Asks the actors to end and waits for them, at most `limit`. Hand in the last handles: detached actors must be
/// destroyed before their system can end. Blocks the thread, even inside a fiber. False if some are left.
bool stop_actors(std::vector<caf::actor> actors, duration limit);

class node {
 public:
  /// Spawns what the task needs and publishes it on the task's port (the middleman must be loaded).
  /// @throws invalid_argument_error for a chief's configuration; unavailable_error when the port can't be used.
  node(caf::actor_system& system, const task_config& config, node_options options = {});
  ~node();
  node(const node&) = delete;

  /// Waits until the chief retires the node or is lost.
  member_end wait();

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe
