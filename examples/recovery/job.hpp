// The job of lesson 11: a regression that goes on after the loss of workers, of parameter servers, and of itself.
#pragma once

#include <troupe/runtime/cluster.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe::recovery {

struct job_options {
  std::int64_t steps = 400;
  /// Steps between two checkpoints: what the loss of a server costs at most.
  std::int64_t save_interval = 20;
  /// How long a step computes.
  std::chrono::milliseconds step_time{20};
  std::string checkpoint;
};

struct job_result {
  /// Each counts once, however often its closure ran.
  std::int64_t steps = 0;
  /// Gradients that the variables contain: at least as many.
  std::int64_t gradients = 0;
  /// How often this process went back to the checkpoint.
  int recoveries = 0;
  std::vector<float> weights;
};

/// One step at a time on each worker.
cluster_options job_cluster_options();

/// Goes on from the checkpoint, if there is one, and returns when all steps are done and saved. Calls `report` with a
/// line each time that the job begins or goes back to the checkpoint.
/// @throws deadline_exceeded_error when servers stay away; the last failure after too many without a checkpoint.
job_result run_job(cluster& here, const job_options& options, const std::function<void(const std::string&)>& report);

}  // namespace troupe::recovery
