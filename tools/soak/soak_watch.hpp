// Runs a soak's cluster, kills its workers one after the other, and watches what every process holds.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace troupe::tools {

struct soak_watch_options {
  std::string program;
  /// Of every process.
  std::vector<std::string> arguments;
  int workers = 3;
  int servers = 2;
  std::chrono::seconds kill_every{5};
  std::chrono::seconds report_every{10};
  /// Processes have reached their size by then. What they held at most in the minute before is compared with the last
  /// minute of all.
  std::chrono::seconds settled_after{300};
  /// How much more than that it may be.
  double growth_max = 1.05;
};

/// What the program exits with; otherwise with what its chief does.
struct soak_exit {
  static constexpr int good = 0;
  static constexpr int grown = 1;
  static constexpr int failed = 1;
  static constexpr int usage = 2;
};

/// Prints resident memory, descriptors and threads of every process at each report, and at the end how much they have
/// grown, if it took as long as they need to reach their size. Returns the exit code.
int watch_soak(const soak_watch_options& options);

}  // namespace troupe::tools
