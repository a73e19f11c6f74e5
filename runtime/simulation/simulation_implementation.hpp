// What a simulated cluster is made of: a world with a host for each task, and what the tasks run.
#pragma once

#include <troupe/runtime/cluster/chief_actors.hpp>
#include <troupe/runtime/simulation.hpp>
#include <troupe/runtime/simulation/simulated_member.hpp>
#include <troupe/runtime/simulation/world_implementation.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

inline const task_id chief_task{"chief", 0};

struct simulation::implementation {
  explicit implementation(const simulation_options& chosen);
  implementation(simulated_world& in, const local_cluster& size, const cluster_options& cluster);

  /// @throws invalid_argument_error
  void add_tasks();
  void remove_tasks();

  /// @throws invalid_argument_error
  void check_known(const task_id& task) const;
  /// The host's name. @throws also failed_precondition_error when it does not run.
  std::string running_host(const task_id& task) const;
  simulated_process& process(const task_id& task);
  chief_actors& running_chief();
  void add_task(const task_id& task);
  void start_chief(simulated_process& process);
  void start_member(const task_id& task, simulated_process& process);
  void stop(const task_id& task, simulated_process& dying);
  void note(const std::string& line) { all.note(line); }
  void take_event(const event& what);
  /// The task's process ends soon.
  void end(const task_id& task, const member_end& how);

  const simulation_options options;
  std::map<task_id, task_address> addresses;
  std::map<task_id, member_end> ends;
  std::map<task_id, bool> present;
  std::vector<occurrence> occurrences;
  resource_id last_resource = 0;
  /// By the incarnation of the server: another process begins anew, so that what reaches it by mistake is noticed.
  std::map<std::uint64_t, std::uint64_t> last_shard;
  /// What the application has on each task that runs.
  std::map<task_id, std::shared_ptr<member_context>> applications;
  chief_actors chief;
  /// The same for what is written for real clusters; lives as long as the chief's programs.
  std::unique_ptr<cluster> chief_cluster;
  /// Null: somebody else's.
  std::unique_ptr<simulated_world> own_world;
  simulated_world& world;
  simulated_world::implementation& all;
};

}  // namespace troupe
