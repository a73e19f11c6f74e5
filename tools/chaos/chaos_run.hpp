// Runs a job under a plan of faults, from its start to its end, within a limit.
#pragma once

#include "chaos_report.hpp"

#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/launch/launcher.hpp>

#include <string>

namespace troupe::tools {

struct chaos_options {
  launcher_options launch;
  /// Checked.
  fault_plan plan;
  /// Each task runs on a host of its own.
  bool on_hosts = false;
  /// No more than this in each direction of each host's cable, as "50mbit"; empty: no limit.
  std::string bandwidth;
  /// Each fault is a line of the launcher's.
  bool tells_faults = false;
  /// The plan's times count from when all members have joined, but from so long after the job's start at the latest.
  std::chrono::duration<double> wait{10};
  chaos_limits limits;
};

/// @throws what launcher, host_network and its faults throw; then no process is left
job_record run_under_faults(const chaos_options& options);

}  // namespace troupe::tools
