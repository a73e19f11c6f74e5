// What the lessons' programs do with their own arguments, which are those that are none of troupe's.
#pragma once

#include <troupe/runtime/run.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace troupe::examples {

/// The end of the --help of a program of `run` or `run_group`.
inline constexpr auto footer_of_run =
    "--troupe-help prints what every program of troupe has besides: flags, environment variables, exit codes.\n"
    "\n"
    "Exit codes:\n"
    "  0     done\n"
    "  1     the program failed\n"
    "  2     wrong usage\n"
    "  other those of --troupe-help";

/// Reads them into what was added to `options`. Nothing: the program goes on. Otherwise what it exits with: --help was
/// printed, or an argument is wrong and a message says so.
inline std::optional<int> read_arguments(CLI::App& options, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  try {
    options.parse(arguments);
    return std::nullopt;
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) {
      fmt::print("{}", options.help());
      return exit_code::success;
    }
    fmt::print(stderr, "{}: {} (see --help)\n", options.get_name(), stop.what());
    return exit_code::usage_error;
  }
}

}  // namespace troupe::examples
