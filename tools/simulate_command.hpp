// `troupe simulate`: a test program's searches in virtual time, from the command line.
#pragma once

namespace CLI {
class App;
}

namespace troupe::tools {

/// The callback sets the exit code, or becomes the program.
void add_simulate_command(CLI::App& app, int& exit_code);

}  // namespace troupe::tools
