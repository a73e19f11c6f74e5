// How many actors may be offered, followed and waited for.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <cstddef>

namespace troupe {

/// How long `find` waits for an actor, and for its member, if nothing else is said.
inline constexpr duration find_limit = std::chrono::seconds{60};

struct offer_limits {
  /// Names that one member offers.
  std::size_t offers_max = 65'536;
  /// Names that one member follows. Those that nobody holds any more make room for others.
  std::size_t links_max = 65'536;
  /// Requests from other members that wait for a name.
  std::size_t searches_max = 65'536;
  /// How long one search waits at the other member for a name that is not offered yet; then it begins again.
  duration search_limit = std::chrono::seconds{10};
  /// The first one, until it is known why the name is not found.
  duration first_search_limit = std::chrono::milliseconds{100};
  /// Between two attempts.
  duration search_retry = std::chrono::milliseconds{50};
};

}  // namespace troupe
