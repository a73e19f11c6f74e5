// The flags that every program of run() and run_group() has; all begin with --troupe-.
#pragma once

#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/door/credentials.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct program_flags {
  local_cluster size;
  /// One of the flags that have changed it; empty: none has.
  std::string size_flag;
  /// From TF_CONFIG, or the file that stands for it; nothing: the whole cluster is this process.
  std::optional<task_config> config;
  /// "TF_CONFIG", or the name of that file.
  std::string config_source;
  program_log_options log;
  /// A file of CAF's own options (files/caf_options.hpp); empty: none.
  std::string caf_config;
  std::optional<duration> stop_grace;
  /// The environment's, changed by flags.
  credentials who;
  /// What is left for the program.
  std::vector<std::string> program;
};

/// The flags are taken out; everything else is the program's. Nothing: they were printed, since --troupe-help asked.
/// @throws error, CLI::ParseError
std::optional<program_flags> parse_program_flags(int argc, char** argv, const local_cluster& size);

/// Reads "NAME=N" into `roles`. @throws invalid_argument_error
void add_role(const std::string& text, std::map<std::string, int>& roles);

}  // namespace troupe
