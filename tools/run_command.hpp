// `troupe run`: a whole cluster of processes on this machine, from one command line.
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace troupe::tools {

/// Adds the subcommand. When it runs, it blocks until the job has ended and sets `exit_code`, which must outlive `app`.
void add_run_command(CLI::App& app, int& exit_code);

/// The command line in CLI11's order, the last first, without a "--" before the program of `run`, which it would take
/// for its own.
std::vector<std::string> without_separator(int argc, char** argv);

}  // namespace troupe::tools
