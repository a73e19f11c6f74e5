// What the subcommands that start a PROGRAM have in common: it stands behind their options. And those of `troupe run`
// and `troupe chaos`: which cluster is started.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/launcher.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe::tools {

inline constexpr int exit_usage = 2;
// What a shell returns when it cannot run a command.
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

struct launch_flags {
  launcher_options launch;
  double stop_grace_seconds = 12.0;
  double leave_grace_seconds = 2.0;
  std::vector<std::string> roles;
};

/// Makes the command the prefix of another one, PROGRAM and its arguments.
void make_prefix(CLI::App& command);

/// Adds the options, and makes the command a prefix.
void add_launch_flags(CLI::App& command, launch_flags& flags);

/// Takes PROGRAM and its arguments from what is left of a command line, whose first part is "troupe run".
/// @throws CLI::ParseError when there is none
void take_program(const std::vector<std::string>& rest, std::string_view command, launcher_options& options);

/// What the flags say, for a launcher whose output goes to this process's streams. @throws invalid_argument_error
launcher_options launcher_options_of(const launch_flags& flags);

/// What to exit with when the launcher could not start anything; `otherwise`: for other reasons than PROGRAM.
int exit_code_of_start(const error& failed, int usage, int otherwise);

/// CLI11 wants no "--" before PROGRAM; people may write it: it is taken out of the arguments, which are returned in the
/// order in which CLI11 wants them, the last first.
std::vector<std::string> without_separator(int argc, char** argv);

}  // namespace troupe::tools
