// From limits to deadlines. Private to the library.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace troupe {

/// `limit` after `now`, the clock's end if that lies beyond it, as for nanoseconds::max(). `what` has the limit.
/// @throws invalid_argument_error unless it is positive.
inline communicator::clock::time_point deadline_after(
    std::chrono::nanoseconds limit, std::string_view what,
    communicator::clock::time_point now = communicator::clock::now()) {
  if (limit <= std::chrono::nanoseconds::zero())
    throw invalid_argument_error{fmt::format("{}: the limit is {} ns; expected a positive time", what, limit.count())};
  constexpr auto end = communicator::clock::time_point::max();
  return limit < end - now ? now + limit : end;
}

/// What is left for a part of a call, as a limit: positive.
inline std::chrono::nanoseconds left_until(communicator::clock::time_point deadline) {
  return std::max(deadline - communicator::clock::now(), communicator::clock::duration{1});
}

}  // namespace troupe
