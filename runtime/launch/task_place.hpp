// Where a task of a cluster runs: its address, and how a process gets there.
#pragma once

#include <troupe/runtime/cluster/cluster_spec.hpp>

#include <functional>
#include <string>
#include <vector>

namespace troupe {

struct task_place {
  task_address address;
  /// What precedes the program's path so that it runs there: "nsenter", its options. Empty: it runs on this machine.
  /// The process must become the program's own, so that its pid and its signals are.
  std::vector<std::string> launcher;
};

/// Gives each task its place.
using placement = std::function<task_place(const task_id&)>;

}  // namespace troupe
