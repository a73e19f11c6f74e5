// What `troupe bench` can measure: every bench gives its cases here, the command runs them.
#pragma once

#include "bench_harness.hpp"

#include <troupe/runtime/cluster.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe::tools {

/// Where the members of a case's cluster live.
enum class placement_of_members { in_process, processes };

struct bench_case {
  std::string bench;
  std::string name;
  /// One line for --help.
  std::string summary;
  placement_of_members where = placement_of_members::in_process;
  local_cluster size = {.workers = 2, .servers = 1};
  /// Runs as the program of the cluster's chief. Throws what cannot be measured.
  std::function<std::vector<figure>(const measuring_plan&, cluster&)> measure;
  cluster_options options = {};
  /// Of a cluster of processes: workers that were killed are started again after this time, or a while longer. Unset:
  /// they are not.
  std::optional<std::chrono::milliseconds> restart_delay = {};
  /// Of a cluster of processes: whether they talk under TLS.
  bool tls = false;
  /// Not empty: why `--markdown` leaves it out unless its bench, or the case, is named.
  std::string left_out_because = {};
};

std::vector<bench_case> schedule_cases();
std::vector<bench_case> call_cases();
std::vector<bench_case> variables_cases();
std::vector<bench_case> transfer_cases();
std::vector<bench_case> checkpoint_cases();
std::vector<bench_case> memory_cases();
std::vector<bench_case> training_cases();
std::vector<bench_case> all_reduce_cases();
std::vector<bench_case> all_reduce_process_cases();
std::vector<bench_case> replica_cases();
std::vector<bench_case> rpc_cases();
std::vector<bench_case> gpu_cases();
std::vector<bench_case> gpu_collective_cases();
std::vector<bench_case> gpu_server_cases();
std::vector<bench_case> prefetch_cases();
std::vector<bench_case> recovery_cases();
std::vector<bench_case> silence_cases();
std::vector<bench_case> door_cases();
std::vector<bench_case> scale_cases();
std::vector<bench_case> compose_cases();
std::vector<bench_case> simulation_cases();

}  // namespace troupe::tools
