// The name of a type as its compiler spells it, and a number that stands for it in encoded values.
//
// Both are computed while compiling. Two programs agree on them when the same compiler built them from the same
// declarations; that is what the check of an encoded value's type needs, and nothing else relies on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe {

namespace detail {

// Returns auto: gcc appends the meaning of every alias in the signature to the name.
template <class T>
constexpr auto function_name_with_type() {
  return std::string_view{__PRETTY_FUNCTION__};
}

template <auto Constant>
constexpr auto function_name_with_constant() {
  return std::string_view{__PRETTY_FUNCTION__};
}

/// What stands between "KEY = " and the closing bracket of a __PRETTY_FUNCTION__.
constexpr std::string_view template_argument(std::string_view function_name, std::string_view key) {
  const auto begin = function_name.find(key) + key.size();
  return function_name.substr(begin, function_name.rfind(']') - begin);
}

}  // namespace detail

/// "float", "std::vector<int>", "main()::<lambda(float)>", ...
template <class T>
inline constexpr std::string_view type_name = detail::template_argument(detail::function_name_with_type<T>(), "T = ");

/// The same for a constant, such as a function: "&step" or "step".
template <auto Constant>
inline constexpr std::string_view constant_name =
    detail::template_argument(detail::function_name_with_constant<Constant>(), "Constant = ");

/// 64-bit FNV-1a.
constexpr std::uint64_t hash_text(std::string_view text) noexcept {
  auto hash = std::uint64_t{14695981039346656037u};
  for (auto character : text) {
    hash ^= static_cast<unsigned char>(character);
    hash *= 1099511628211u;
  }
  return hash;
}

/// Stands for the type in encoded values; never 0.
template <class T>
inline constexpr std::uint64_t type_tag = hash_text(type_name<T>) | 1;

}  // namespace troupe
