// Small files that people write: configurations, plans of faults. They are this machine's, in a simulation, too.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

inline constexpr std::size_t text_file_bytes_max = std::size_t{16} << 20;
inline constexpr std::chrono::seconds text_file_limit{10};

/// All that is in it. It may be a pipe, as a shell makes one of <(command), whose writer ends within `limit`. Errors
/// begin with `called`, such as "the configuration".
/// @throws invalid_argument_error that names the file: it can't be read, is larger than text_file_bytes_max, or late.
std::string read_text_file(const std::string& path, std::string_view called,
                           std::chrono::milliseconds limit = text_file_limit);

}  // namespace troupe
