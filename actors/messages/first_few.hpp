// A list for a log line or an error message: what a line of 1,000 entries says, its first five say, too.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The first five entries, and how many more there are: "a, b, c, d, e, and 7 more".
inline std::string first_few(const std::vector<std::string>& entries, std::string_view separator) {
  constexpr std::size_t listed_max = 5;
  const auto listed = std::min(entries.size(), listed_max);
  auto text =
      fmt::format("{}", fmt::join(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(listed), separator));
  if (listed < entries.size()) text += fmt::format("{}and {} more", separator, entries.size() - listed);
  return text;
}

}  // namespace troupe
