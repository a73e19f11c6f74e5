// Whether this is a build that looks at each access to memory, in which a search has time for fewer runs.
#pragma once

#include <cstdint>

namespace troupe {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

/// So many, or a tenth of it.
constexpr std::uint64_t runs_here(std::uint64_t runs) { return is_sanitized ? runs / 10 : runs; }

}  // namespace troupe
