// The options of `troupe chaos`, and what they mean: a plan, drawn or read, that the cluster can have.
#pragma once

#include "../launch_flags.hpp"
#include "chaos_run.hpp"

#include <CLI/App.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::tools {

struct chaos_flags {
  launch_flags launch;
  std::string plan_file;
  double rate = 1;
  double duration_seconds = 60;
  std::optional<std::uint64_t> seed;
  double shortest_seconds = 0.05;
  double longest_seconds = 3;
  /// Names with commas between them.
  std::string kinds;
  std::string jobs;
  // How slow links are, in the words of a plan; not given: as fault_rates says.
  std::optional<double> latency_ms;
  std::optional<double> jitter_ms;
  std::optional<std::uint64_t> bytes_per_second;
  bool on_hosts = false;
  std::string bandwidth;
  std::optional<double> limit_seconds;
  double wait_seconds = 10;
  double silence_seconds = 3;
  double notice_seconds = 10;
  double back_seconds = 30;
  std::string report_file;
  std::string save_plan_file;
  bool verbose = false;
};

/// Adds them and those of the launcher.
void add_chaos_flags(CLI::App& command, chaos_flags& flags);

/// Whether the faults are drawn, and not read.
bool is_drawn(const chaos_flags& flags);

/// What to run. A seed that was not given is drawn, and then in `flags`.
/// @throws invalid_argument_error for what can't be, a plan that can't be read as well.
chaos_options chaos_options_of(chaos_flags& flags);

/// A plan as JSON, each fault on a line of its own, for people to edit.
std::string to_lines(const fault_plan& plan);

}  // namespace troupe::tools
