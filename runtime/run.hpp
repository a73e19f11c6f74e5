// The shortest way to a cluster: one `main` for every role.
//
//   int main(int argc, char** argv) {
//     return troupe::run(argc, argv, [](troupe::cluster& cluster) { ... });
//   }
//
// Without TF_CONFIG the whole cluster runs inside this process. With it, the process takes its role: the chief runs the
// program, workers and parameter servers serve until the chief ends or is lost. An application that owns its actor
// system makes `troupe::cluster` and `troupe::cluster_node` itself instead.
//
// `run_group` is the same for replicas in step (multi_worker_mirrored_strategy.hpp): every process of the cluster runs
// the program, as part of a process_group.
//
// Actors of the application's own come with it, on all members, without a `main` of its own:
//
//   int main(int argc, char** argv) {
//     return troupe::run(argc, argv, {
//       .program = [](troupe::cluster& cluster) {
//         const auto sensors = cluster.find_all<sensor_actor>("worker", "sensor");
//         ...
//       },
//       .on_member = [](troupe::member& here) { here.offer("sensor", here.spawn(sensor)); },
//       .on_stop = [](troupe::cluster& cluster) { ... }});  // a last checkpoint
//   }
//
// Flags, taken out of the command line before the program sees it (all begin with --troupe-; --troupe-help lists them).
//
// SIGTERM and SIGINT are an orderly end, within the grace time (`run_options::stop_grace`): on the chief the program's
// waits throw cancelled_error, `on_stop` is called, and all members end as after the program; `on_stop` is called
// beside a program that goes on computing when half of the time is over. A worker hands its closures back and ends what
// the application has there; a parameter server serves on until the chief ends it, or half of the time is over. A
// second signal, or the end of the grace time, ends the process at once. The signals have a handler while `run` runs,
// which any thread may be given: system calls that are never restarted (poll, nanosleep) then end early. Programs that
// the process executes hear them as ever, a forked process that executes none does not. A signal that the process
// ignored when it began stays ignored. From the first one on, writing to a pipe that nobody reads is an error and not
// the end of the process.
//
// Exit codes: what the program returns; 1 it threw; 2 the command line or TF_CONFIG is wrong; 3 the chief was lost;
// 4 the cluster did not start (a port in use, a member that never came); 5 the chief gave this worker up, because a
// closure did not react to its cancellation; 6 the program failed with `aborted`: a closure was lost with each worker
// that ran it; 7 a supervisor of the application's actors gave up (offers/supervisor.hpp): on a member, which ends in
// order, or in the chief's process, whose program is interrupted, without `on_stop`; 128 + the signal's number after
// SIGTERM (143) and SIGINT (130).
#pragma once

#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/process_group.hpp>

#include <caf/fwd.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace troupe {

/// What a process of `run` ends with, beside what its program returns.
struct exit_code {
  static constexpr int success = 0;
  static constexpr int program_failed = 1;
  static constexpr int usage_error = 2;
  static constexpr int chief_lost = 3;
  static constexpr int start_failed = 4;
  static constexpr int dismissed = 5;
  static constexpr int closure_ends_workers = 6;
  static constexpr int supervisor_gave_up = 7;
};

/// The chief's program; one that returns nothing has succeeded when it returns.
class program_function {
 public:
  program_function() = default;
  template <class F>
  requires std::invocable<F&, cluster&> program_function(F body)  // NOLINT(google-explicit-constructor)
  {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, cluster&>>)
      body_ = [body = std::move(body)](cluster& here) mutable {
        body(here);
        return 0;
      };
    else
      body_ = std::move(body);
  }

  int operator()(cluster& here) const { return body_(here); }
  explicit operator bool() const { return body_ != nullptr; }

 private:
  std::function<int(cluster&)> body_;
};

struct run_options {
  program_function program = {};
  /// Called in each worker, server and other role, before the chief takes it in: it spawns and offers actors
  /// (offers/member.hpp) and says with `at_stop` what is to be done before they end. It may not wait. Not on the chief,
  /// whose program has `cluster.here()`.
  std::function<void(member&)> on_member = {};
  /// Called on the chief when the process was told to end by a signal.
  std::function<void(cluster&)> on_stop = {};
  /// Makes the actor system's configuration, an object of a class of the application's own perhaps, with its options;
  /// troupe adds what it needs. Empty: CAF's.
  std::function<std::unique_ptr<caf::actor_system_config>()> config = {};
  /// How large the cluster is inside one process, and whether all that its members send each other is encoded, unless
  /// flags say otherwise.
  local_cluster size = {};
  cluster_options cluster = {};
  /// --troupe-stop-grace replaces it.
  duration stop_grace = std::chrono::seconds{10};
};

/// Runs `options.program` if this process is the chief, or serves otherwise. Never throws; returns the process's exit
/// code. Handles may outlive it: whoever uses them gets an error.
int run(int argc, char** argv, run_options options);

/// The same for a program alone.
template <class F>
requires std::invocable<F&, cluster&>
int run(int argc, char** argv, F program, cluster_options options = {}) {
  run_options all;
  all.program = std::move(program);
  all.cluster = std::move(options);
  return run(argc, argv, std::move(all));
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
