// `troupe run`: a whole cluster of processes on this machine, from one command line.
#pragma once

#include <CLI/App.hpp>

namespace troupe::tools {

/// Adds the subcommand. When it runs, it blocks until the job has ended and sets `exit_code`, which must outlive `app`.
void add_run_command(CLI::App& app, int& exit_code);

}  // namespace troupe::tools
