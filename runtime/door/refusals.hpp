// Why connections were closed at a door: counted, and said in the program's log without filling it.
//
// Whoever can reach a port decides how often something is to be said, so each reason gets one line a minute, which
// tells how many there were since the last one. Nothing that a stranger has sent is in it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace troupe {

enum class refusal {
  /// What it has said does not let it in.
  wrong_words,
  /// It did not say them in time.
  silent,
  /// It had said nothing yet when others needed its place.
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
  explicit refusals(std::string where) : where_(std::move(where)) {}

  /// With `reason` it is known more exactly; one that was not said yet is said at once.
  void add(refusal why, const std::string& reason = {});
  std::uint64_t count(refusal why) const;

 private:
  struct record {
    std::uint64_t count = 0;
    std::uint64_t said = 0;
    std::chrono::steady_clock::time_point quiet_until = std::chrono::steady_clock::time_point::min();
  };
  /// Of different reasons; what is more counts without one of its own.
  static constexpr std::size_t reasons_max = 64;

  const std::string where_;
  mutable std::mutex mutex_;
  std::array<std::uint64_t, refusal_kinds> counts_{};
  std::map<std::string, record, std::less<>> reasons_;
};

}  // namespace troupe
