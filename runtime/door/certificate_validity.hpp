// When a certificate is valid, and what a process says of the end of its own.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace troupe {

struct certificate_validity {
  std::chrono::sys_seconds begin;
  std::chrono::sys_seconds end;
};

/// "2026-01-31 12:00:00 UTC".
std::string to_utc_text(std::chrono::sys_seconds time);

/// Whether the process's own certificate can be used at this time: its peers would refuse any other, and the process
/// would not learn why.
/// @throws invalid_argument_error that names the file, the time and what to do
void check_valid(const std::string& file, const certificate_validity& of, std::chrono::sys_seconds at);

/// The time by which certificates are judged.
using certificate_clock = std::function<std::chrono::sys_seconds()>;
std::chrono::sys_seconds system_time();

/// Announces the end of the own certificate: from two weeks before on, at most once a day. Not thread-safe.
class expiry_warning {
 public:
  static constexpr std::chrono::days notice{14};
  static constexpr std::chrono::days pause{1};

  /// The line that the log is to have now, if any. It counts as written.
  std::optional<std::string> next_line(const std::string& file, const certificate_validity& of,
                                       std::chrono::sys_seconds now);

 private:
  std::optional<std::chrono::sys_seconds> written_;
};

}  // namespace troupe
