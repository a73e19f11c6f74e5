// Who takes part in a job and where: the tasks of a cluster and their network addresses.
//
// A cluster has one chief, whose program drives the job, workers that run closures, and parameter servers ("ps") that
// hold variables; other jobs ("evaluator", names of one's own) are members that only run the application's actors. A
// task is a job name and an index into that job's list of addresses. The text forms are those that
// TF_CONFIG uses, so that existing launchers can describe a cluster to troupe.
//
// Invariants of a parsed specification: exactly one chief, at least one worker, every address well-formed and used
// once. A strategy may ask for more (the parameter server strategy needs a server).
#pragma once

#include <troupe/actors/messages/task.hpp>

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// All tasks of a cluster, by job; a task's index is its place in the list.
struct cluster_spec {
  std::vector<task_address> chief;
  std::vector<task_address> worker;
  std::vector<task_address> ps;
  /// Other jobs, by name.
  std::map<std::string, std::vector<task_address>> roles;
  bool operator==(const cluster_spec&) const = default;

  /// The addresses of one job. @throws invalid_argument_error for a name that is no job.
  const std::vector<task_address>& job(std::string_view name) const;
  /// A task's address. @throws invalid_argument_error when the cluster has no such task.
  const task_address& address(const task_id& task) const;
  /// Every task: servers, workers, other roles, the chief, which is the order in which they are started.
  std::vector<task_id> tasks() const;

  /// Reads {"chief": ["host:port"], "worker": [...], "ps": [...]}. "master" is an older name for the chief;
  /// any other name (check_role_name) is a role of the application's.
  /// @throws invalid_argument_error that names the field, what it holds, what it must hold and how to fix it.
  static cluster_spec from_json(std::string_view text);
  /// The same for a value that is part of a larger document; `path` is its place there and begins each message.
  static cluster_spec from_json(const nlohmann::json& value, const std::string& path);
  /// The inverse of from_json; jobs without tasks are left out.
  std::string to_json() const;
};

/// What a role may be called. @throws invalid_argument_error for a name that is no plain word, or that is likely to be
/// a misspelt "worker", "ps" or "chief".
void check_role_name(std::string_view name, std::string_view where);

}  // namespace troupe
