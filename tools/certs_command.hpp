// `troupe certs`: the private authority of a cluster, and certificates for its processes.
#pragma once

#include <CLI/App.hpp>

namespace troupe::tools {

/// Adds the subcommand. When it runs it sets `exit_code`, which must outlive `app`.
void add_certs_command(CLI::App& app, int& exit_code);

}  // namespace troupe::tools
