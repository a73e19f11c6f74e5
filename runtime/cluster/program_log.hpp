// Where the library writes what an operator wants to read: nowhere, unless the program has a log for it.
//
// A library does not write to a program's standard error unasked. The programs of run() and run_group() have a log;
// another one makes a logger of this name, with whatever sinks: `spdlog::stderr_logger_mt("troupe")`.
#pragma once

#include <string_view>

namespace troupe {

/// Under this name spdlog finds the logger.
inline constexpr auto program_log_name = "troupe";

/// One line for the program's log, if it has one. Any thread.
void log_info(std::string_view line);

}  // namespace troupe
