// `troupe why ADDRESS`: who waits for whom in a job that runs.
#pragma once

namespace CLI {
class App;
}

namespace troupe::tools {

void add_why_command(CLI::App& app, int& exit_code);

}  // namespace troupe::tools
