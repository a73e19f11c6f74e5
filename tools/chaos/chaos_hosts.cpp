#include "chaos_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::tools {

std::string host_name(const task_id& task) { return fmt::format("{}-{}", task.job, task.index); }

std::vector<task_id> tasks_of(const launcher_options& options) {
  std::vector<task_id> result;
  const auto add = [&result](const std::string& job, int count) {
    for (auto i = 0; i < count; ++i) result.push_back({job, i});
  };
  add("ps", options.servers);
  add("worker", options.workers);
  for (const auto& [role, count] : options.roles) add(role, count);
  add("chief", 1);
  return result;
}

const task_id* find_host(const std::vector<task_id>& tasks, const std::string& name) {
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [&](const auto& each) { return host_name(each) == name; });
  return found == tasks.end() ? nullptr : &*found;
}

bool is_chief(const task_id& task) { return task.job == "chief"; }

}  // namespace troupe::tools
