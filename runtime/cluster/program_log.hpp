// Where the library writes what an operator wants to read: nowhere, unless the program has a log for it.
//
// A library does not write to a program's standard error unasked. The programs of run() and run_group() have a log;
// another one makes a logger of this name, with whatever sinks: `spdlog::stderr_logger_mt("troupe")`.
#pragma once

#include <string>
#include <string_view>

namespace spdlog {
class logger;
}

namespace troupe {

/// Under this name spdlog finds the logger.
inline constexpr auto program_log_name = "troupe";

struct program_log_options {
  /// The least level that is written: "trace", "debug", "info", "warning", "error", "critical" or "off".
  std::string level = "info";
  /// Lines are added to this file; empty: standard error.
  std::string file;
  /// Each line is a JSON object with time, level, process and message.
  bool json = false;
};

/// Makes the log, in place of an earlier one. @throws invalid_argument_error for no level, unavailable_error when the
/// file can't be written.
spdlog::logger& open_program_log(const program_log_options& options);

/// Whether the process has a log. Any thread.
bool has_program_log();

/// One line for the program's log, if it has one. Any thread.
void log_info(std::string_view line);
void log_warning(std::string_view line);
void log_error(std::string_view line);

}  // namespace troupe
