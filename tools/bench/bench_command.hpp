// What `troupe bench` does: measures troupe against its references on this machine.
#pragma once

#include <CLI/App.hpp>

namespace troupe::tools {

/// Makes the application the command. When it runs, it blocks until everything is measured and sets `exit_code`, which
/// must outlive `app`.
void add_bench_options(CLI::App& app, int& exit_code);

}  // namespace troupe::tools
