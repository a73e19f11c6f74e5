// Text of another process as it may stand in a log line, a header or an error message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// At most the first `bytes_max` bytes of `text`. Each byte that is no printable ASCII character becomes '?': a line
/// end would begin a line of its own, and an escape sequence would control the terminal that shows it.
inline std::string printable_text(std::string_view text, std::size_t bytes_max) {
  std::string result{text.substr(0, bytes_max)};
  for (auto& each : result)
    if (each < ' ' || each > '~') each = '?';
  return result;
}

}  // namespace troupe
