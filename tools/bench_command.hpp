// `troupe bench`: hands over to the program troupe-bench, which lies beside the command.
#pragma once

#include <CLI/App.hpp>

namespace troupe::tools {

/// Adds the subcommand. When it runs, this process becomes troupe-bench; if there is none, it throws not_found_error.
void add_bench_command(CLI::App& app);

}  // namespace troupe::tools
