// `troupe chaos`: a cluster of processes, as `troupe run` starts it, under faults that a plan or a seed gives.
#pragma once

#include <CLI/App.hpp>

namespace troupe::tools {

/// Adds the subcommand. When it runs, it blocks until the job has ended and sets `exit_code`, which must outlive `app`.
void add_chaos_command(CLI::App& app, int& exit_code);

}  // namespace troupe::tools
