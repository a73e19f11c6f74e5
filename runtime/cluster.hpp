// The chief's side of a cluster: what a program holds to schedule closures and make variables.
//
// A cluster is either all inside this process (its workers and servers are actors beside the chief), or spread over the
// processes of a specification, of which this one is the chief. Programs see no difference. It attaches to an actor
// system that somebody else owns, spawns its actors there, and on destruction ends all members and its own actors, in
// order and within bounded time.
//
// The system's configuration must know troupe's messages (message_types.hpp) and, for a cluster of several processes,
// have loaded the middleman.
#pragma once

#include <troupe/actors/closures/coordinator_options.hpp>
#include <troupe/actors/closures/internal/submission_queue.hpp>
#include <troupe/actors/membership/failure_detector_options.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/offer_limits.hpp>
#include <troupe/actors/variables/variable_operations.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/cluster_node.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class member;
class wait_graph;
template <class Actor>
class actor_reference;

/// How large a cluster inside one process is.
struct local_cluster {
  int workers = 2;
  int servers = 1;
  /// Members that only run the application's actors, by their job: {{"evaluator", 1}}.
  std::map<std::string, int> roles;
  /// What members send each other is made into bytes and back, under the limits that hold between processes: closures'
  /// arguments and results, variables, questions to actors that are offered, and what `ask` answers. What fails there
  /// fails here, too. For tests. It holds for the whole process, as long as the cluster is there.
  bool encode = false;
  static constexpr int members_max = 100'000;
};

/// Every limit and interval of a cluster, with its default.
struct cluster_options {
  coordinator_options coordinator;
  /// Closures that have not ended; `schedule` waits while there are as many.
  std::size_t queue_capacity = submission_queue::capacity_default;
  failure_detector_options detection;
  /// How long members tolerate the chief's silence before they end themselves.
  duration chief_silence_max = std::chrono::seconds{10};
  /// Of operations on variables, from the program and from closures of members inside this process.
  variable_client_options variables;
  /// Of the members inside this process.
  node_options members;
  /// How long `wait_until_ready` waits for members.
  duration start_limit = std::chrono::seconds{60};
  /// How long the members inside this process may take to end.
  duration stop_limit = std::chrono::seconds{5};
  /// A supervisor of the application's actors gave up (offers/supervisor.hpp), on the chief or on a member inside this
  /// process; once for each of them, in any thread. May not end the cluster itself. Empty: the log says so; `run` ends
  /// its program.
  std::function<void(const status&)> on_failure = {};
};

struct chief_actors;

class cluster;

/// A cluster as its handles hold it, which may outlive it. Not while one thread ends it and another uses it.
class cluster_reference {
 public:
  explicit cluster_reference(cluster& here) : here_(std::make_shared<std::atomic<cluster*>>(&here)) {}

  /// @throws failed_precondition_error after the cluster's end.
  cluster& operator*() const;
  cluster* operator->() const { return &**this; }
  void end() const { here_->store(nullptr); }

 private:
  std::shared_ptr<std::atomic<cluster*>> here_;
};

class cluster {
 public:
  /// Everything inside this process. @throws invalid_argument_error for sizes out of range.
  cluster(caf::actor_system& system, local_cluster size, cluster_options options = {});
  /// The chief of a cluster of several processes; members join when they are up.
  /// @throws invalid_argument_error when the configuration is not a chief's.
  cluster(caf::actor_system& system, const task_config& config, cluster_options options = {});
  /// Of a chief whose actors somebody else has spawned, and ends: a simulation.
  cluster(caf::actor_system& system, chief_actors chief, local_cluster size, cluster_options options);
  ~cluster();
  cluster(const cluster&) = delete;

  /// For handles that may outlive it.
  const cluster_reference& reference() const;

  /// The application's side of the chief: its actors, and those of all members by name.
  member here() const;
  // With <troupe/runtime/actors.hpp>:
  /// As `member::find`: `cluster.find<sensor_actor>({"worker", 0}, "sensor")`.
  template <class Actor>
  actor_reference<Actor> find(const task_id& task, const std::string& name, duration limit = find_limit) const;
  /// As `member::find_all`.
  template <class Actor>
  std::vector<actor_reference<Actor>> find_all(const std::string& job, const std::string& name,
                                               duration limit = find_limit) const;

  int worker_count() const;
  int server_count() const;

  /// Waits for all members, at most `start_limit`. A cluster that lacks only some of its workers is ready then, too.
  /// Calls `tell`, or writes to the log "troupe", who is missing and why: after a second, then every 5 s, and when it
  /// begins with fewer.
  /// @throws unavailable_error that names what is missing and why.
  cluster_view wait_until_ready(const std::function<void(const std::string& missing)>& tell = {});
  /// Waits until these tasks are present. @throws deadline_exceeded_error with the reason for each that is not.
  cluster_view wait_for(const std::vector<task_id>& tasks, duration limit);
  cluster_view view() const;
  /// Who waits for whom, in all processes, which have the limit to tell. Any thread or fiber.
  /// @throws deadline_exceeded_error, resource_exhausted_error when too many ask.
  wait_graph why(duration limit = std::chrono::seconds{2}) const;

  /// What the program was given on its command line, after troupe's own flags.
  const std::vector<std::string>& arguments() const;
  void set_arguments(std::vector<std::string> arguments);

  caf::actor_system& system() const;
  const cluster_options& options() const;
  // The actors, for applications that talk to them directly (actors.hpp).
  const coordinator_actor& coordinator() const;
  const membership_actor& membership() const;
  const event_bus_actor& events() const;
  const std::shared_ptr<submission_queue>& queue() const;
  const dialer_actor& dialer() const;
  // What remote values and variables hold.
  const coordinator_ptr& shared_coordinator() const;
  const client_ptr& client() const;

 private:
  struct implementation;
  void start(std::vector<std::pair<task_id, task_address>> members, const member_identity& who);
  /// Nothing: some are still missing.
  std::optional<cluster_view> wait_a_while_for(const std::vector<task_id>& tasks, duration limit);
  static cluster_view begin_with_fewer(const cluster_view& now, const std::string& missing,
                                       const std::function<void(const std::string& missing)>& tell);

  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe
