// What a program needs to know about where its output goes.
#pragma once

#include <chrono>
#include <string_view>

namespace troupe {

/// The environment variable that settles how progress is shown: "bar" or "lines". The launcher sets it unless the user
/// has, because its tasks write to pipes and cannot see the terminal behind them.
inline constexpr auto progress_variable = "TROUPE_PROGRESS";

/// @throws invalid_argument_error when the variable is set to something else.
void check_progress_setting();

/// Whether progress written to this file descriptor is best shown as a bar that is drawn over and over: as
/// `progress_variable` says, otherwise when the descriptor is a terminal.
bool shows_progress_bar(int file);

/// The width to use for lines on this file descriptor: the terminal's, otherwise that of the environment variable
/// COLUMNS, otherwise 80.
int terminal_columns(int file);

/// Writes all of `text` to a file descriptor, which may be a pipe whose reader is slow. Gives up, and leaves the rest
/// out, when the reader is gone, when nothing could be written for `patience` (negative: no limit), or when nothing
/// can be written and `interrupt` is readable (-1: no such descriptor). False: the reader of a pipe is gone; SIGPIPE
/// must not end the process (outlive_readers).
bool write_text(int file, std::string_view text, int interrupt, std::chrono::milliseconds patience);

}  // namespace troupe
