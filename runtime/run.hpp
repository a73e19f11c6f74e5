// The shortest way to a cluster: one `main` for every role.
//
//   int main(int argc, char** argv) {
//     return troupe::run(argc, argv, [](troupe::cluster& cluster) { ... });
//   }
//
// Without TF_CONFIG the whole cluster runs inside this process. With it, the process takes its role: the chief runs the
// program, workers and parameter servers serve until the chief ends or is lost. An application that owns its actor
// system makes `troupe::cluster` and `troupe::node` itself instead.
//
// `run_group` is the same for replicas in step (multi_worker_mirrored_strategy.hpp): every process of the cluster runs
// the program, as part of a process_group.
//
// Flags, taken out of the command line before the program sees it (all begin with --troupe-; --troupe-help lists them).
//
// Exit codes: what the program returns; 1 it threw; 2 the command line or TF_CONFIG is wrong; 3 the chief was lost;
// 4 the cluster did not start (a port in use, a member that never came); 5 the chief gave this worker up, because a
// closure did not react to its cancellation.
#pragma once

#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/process_group.hpp>

#include <functional>

namespace troupe {

enum exit_code : int {
  success = 0,
  program_failed = 1,
  usage_error = 2,
  chief_lost = 3,
  start_failed = 4,
  dismissed = 5
};

/// Runs `program` if this process is the chief, or serves otherwise. Never throws; returns the process's exit code.
int run(int argc, char** argv, std::function<int(cluster&)> program, cluster_options options = {});

/// The same for a program without an exit code of its own.
template <class F>
requires std::is_void_v<std::invoke_result_t<F, cluster&>>
int run(int argc, char** argv, F program, cluster_options options = {}) {
  return run(argc, argv, std::function<int(cluster&)>{[program = std::move(program)](cluster& c) mutable {
               program(c);
               return 0;
             }},
             options);
}

/// Runs `program` in this process as one of its group; without TF_CONFIG the group is this process alone. Never throws;
/// returns the process's exit code.
int run_group(int argc, char** argv, std::function<int(process_group&)> program, process_group_options options = {});

template <class F>
requires std::is_void_v<std::invoke_result_t<F, process_group&>>
int run_group(int argc, char** argv, F program, process_group_options options = {}) {
  return run_group(argc, argv,
                   std::function<int(process_group&)>{[program = std::move(program)](process_group& g) mutable {
                     program(g);
                     return 0;
                   }},
                   options);
}

}  // namespace troupe
