// Why connections were closed at a door: counted, and said in the program's log without filling it.
//
// Whoever can reach a port decides how often something is to be said, so each reason gets one line a minute
// (limited_log.hpp). What a reason quotes of another process is one line of printable text there, and bounded.
#pragma once

#include <troupe/actors/fibers/limited_log.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

enum class refusal {
  /// What it has said does not let it in.
  wrong_words,
  /// It did not say them in time.
  silent,
  /// It had not said what it wants when others needed its place.
  displaced,
  /// Too many connections are open.
  over_limit,
  /// The process had no descriptor left for it.
  no_descriptor,
};
inline constexpr std::size_t refusal_kinds = 5;

/// Any thread.
class refusals {
 public:
  /// `where` says which port it is.
  explicit refusals(std::string where, limited_log::clock now = std::chrono::steady_clock::now);

  /// With `reason` it is known more exactly; one that was not said yet is said at once.
  void add(refusal why, const std::string& reason = {});
  std::uint64_t count(refusal why) const;

 private:
  const std::string where_;
  std::array<std::atomic<std::uint64_t>, refusal_kinds> counts_{};
  limited_log log_;
};

}  // namespace troupe
