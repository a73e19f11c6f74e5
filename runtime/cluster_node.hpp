// The troupe actors of one process that is a worker or a parameter server, and their life.
//
//   constructed (spawned, published) --> chief adopts --> serves --> wait() returns how it ended --> destroyed
//   (stopped)
//
// A node attaches to an actor system that its application owns and takes nothing else of the process. Stopping is
// orderly and bounded: the actors are asked to end and waited for at most `stop_limit`.
#pragma once

#include <troupe/actors/closures/worker_options.hpp>
#include <troupe/actors/membership/failure_detector_options.hpp>
#include <troupe/actors/membership/member_end.hpp>
#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/variables/parameter_server_options.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class member;

struct node_options {
  /// Called for each member once its actors are there and before others can reach it; it may spawn and offer actors of
  /// the application, but not wait. A simulation calls it again at each restart.
  std::function<void(member&)> on_member;
  worker_options worker;
  parameter_server_options server;
  /// Of other members whose actors are followed here.
  failure_detector_options detection;
  /// How long a member waits for its chief's first word, and, when their link has broken, to be taken in again.
  duration adoption_limit = std::chrono::minutes{5};
  duration link_loss_max = std::chrono::seconds{1};
  /// For the application's part and for troupe's own actors, each.
  duration stop_limit = std::chrono::seconds{3};
};

/// The identity of this process as that task; a new incarnation at each call.
member_identity make_identity(const task_id& task);

/// Asks the actors to end and waits for them, at most `limit`. Hand in the last handles: detached actors must be
/// destroyed before their system can end. Blocks the thread, even inside a fiber; in a simulation, which would then
/// stand still, it does not wait. False if some are left.
bool stop_actors(std::vector<caf::actor> actors, duration limit);

class cluster_node {
 public:
  /// Spawns what the task needs and publishes it on the task's port (the middleman must be loaded).
  /// @throws invalid_argument_error for a chief's configuration; unavailable_error when the port can't be used.
  cluster_node(caf::actor_system& system, const task_config& config, node_options options = {});
  ~cluster_node();
  cluster_node(const cluster_node&) = delete;

  /// The application's side of this member.
  member here() const;

  /// Tells the chief that this process ends, so that it takes back what it has given to it. The destructor follows.
  void leave(const status& why);

  /// What this process has published.
  const member_actor& door() const;

  /// Whether a chief has taken it in.
  bool is_adopted() const;
  /// Waits until the chief retires the node or is lost.
  member_end wait();
  /// The same for at most this long; nothing: not yet.
  std::optional<member_end> wait_for(duration limit);

 private:
  struct implementation;
  void stop();

  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe
