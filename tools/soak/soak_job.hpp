// What the chief of a soak does, until its time is over: closures that count, variables that come and go, checkpoints
// and restores, while workers are killed.
//
// Each round checks what users rely on: every closure ends, an acknowledged addition is there, none is there twice but
// for a closure that was lost with its worker.
#pragma once

#include <troupe/runtime/cluster.hpp>

#include <chrono>
#include <string>

namespace troupe::tools {

struct soak_job_options {
  std::chrono::seconds time{1800};
  std::chrono::seconds checkpoint_every{20};
  std::chrono::seconds restore_every{60};
  /// A file that belongs to the soak.
  std::string checkpoint;
};

/// @throws internal_error that says what was not as it must be.
void run_soak_job(cluster& here, const soak_job_options& options);

}  // namespace troupe::tools
