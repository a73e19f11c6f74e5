// The processes that `troupe bench` starts: copies of itself whose output it reads.
#pragma once

#include "bench_case.hpp"

#include <troupe/runtime/launch/child_process.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::tools {

/// A copy of this program, to be started with these arguments.
child_process_options another_self(std::vector<std::string> arguments);

/// The first line that the child prints. @throws unavailable_error if it ends before, or after `limit`.
std::string first_line(child_process& child, std::chrono::milliseconds limit);

/// Measures one case in a process of its own and returns its figures. @throws aborted_error with what the process has
/// printed when it fails, deadline_exceeded_error when it takes far longer than the plan.
std::vector<figure> measure_in_child(const bench_case& which, const measuring_plan& plan);

/// Measures one case on a cluster of processes, of which the chief measures. Throws as above.
std::vector<figure> measure_in_cluster(const bench_case& which, const measuring_plan& plan);

/// Measures one case in the way it needs. Throws as above.
std::vector<figure> measure_apart(const bench_case& which, const measuring_plan& plan);

}  // namespace troupe::tools
