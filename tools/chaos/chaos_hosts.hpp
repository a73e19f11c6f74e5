// What plans call the tasks of a real cluster: as the simulation calls its hosts, so that one plan serves both.
#pragma once

#include <troupe/runtime/launch/launcher.hpp>

#include <string>
#include <vector>

namespace troupe::tools {

/// "worker-1".
std::string host_name(const task_id& task);

/// The tasks that a launcher with these options starts: servers, workers, other roles, the chief.
std::vector<task_id> tasks_of(const launcher_options& options);

/// The task with this name among them; null: none.
const task_id* find_host(const std::vector<task_id>& tasks, const std::string& name);

bool is_chief(const task_id& task);

}  // namespace troupe::tools
