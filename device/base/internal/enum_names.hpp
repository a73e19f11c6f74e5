// The names of an enumeration's values, both ways. Private to the library.
#pragma once

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// Of an enumeration that counts from 0. `what` is the word for such a value in errors.
template <class Enum, std::size_t Count>
struct enum_names {
  std::string_view what;
  std::array<std::string_view, Count> names;

  /// A number that is no value is rendered as one: it may have come from another process.
  std::string name_of(Enum value) const {
    const auto index = static_cast<std::size_t>(value);
    return index < Count ? std::string{names[index]} : fmt::format("{} {}", what, index);
  }

  /// Whatever the case. Throws invalid_argument_error that lists the names.
  Enum value_of(std::string_view name) const {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    const auto found = std::ranges::find_if(
        names, [&](std::string_view each) { return std::ranges::equal(each, name, {}, {}, lower); });
    if (found == names.end()) {
      throw invalid_argument_error{
          fmt::format("\"{}\" is no {}; expected one of {}", name, what, fmt::join(names, ", "))};
    }
    return static_cast<Enum>(found - names.begin());
  }
};

}  // namespace troupe
