// `troupe bench`: measures troupe against its references on this machine.
#pragma once

#include <CLI/App.hpp>

namespace troupe::tools {

/// Adds the subcommand. When it runs, it blocks until everything is measured and sets `exit_code`, which must outlive
/// `app`.
void add_bench_command(CLI::App& app, int& exit_code);

}  // namespace troupe::tools
