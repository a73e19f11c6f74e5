// How often the program's log reports an event that other processes cause.
//
// Problem: whoever can reach a port decides how often something is to be reported, and parts of the text may come from
// there. Solution: each reason has one line a minute, which states how many events there were since its last line. The
// number of reasons is bounded. A reason that does not occur for a minute frees its place, so that nobody can occupy
// all places for good. The text is cleaned before it is compared or reported.
//
// The caller formats and writes the line: one says which port it is, another which process.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

struct limited_log_options {
  /// Between two lines of one reason. A reason that does not occur for so long frees its place.
  duration interval = std::chrono::minutes{1};
  /// Different reasons that are known at one time, besides those that stand for others (`limited_log::add`).
  std::size_t reasons_max = 64;
  /// Of the text of a reason; what follows is cut off.
  std::size_t reason_bytes_max = 512;
};

/// Any thread.
class limited_log {
 public:
  /// The virtual time of a simulated process, or `std::chrono::steady_clock::now`.
  using clock = std::function<time_point()>;

  explicit limited_log(clock now = std::chrono::steady_clock::now, limited_log_options options = {});

  /// A line that is to be written now.
  struct line {
    /// Cleaned.
    std::string reason;
    /// Events since the last line of this reason, including this one.
    std::uint64_t count = 0;
  };

  /// Counts an event. Returns a line if one is due. If there is no place for `reason` it counts as `otherwise`, one of
  /// a few constant texts of the program.
  std::optional<line> add(std::string_view reason, std::string_view otherwise = "other reasons");

  /// Events of this reason since it has its place; 0 without a place.
  std::uint64_t count_of(std::string_view reason) const;
  /// Reasons that have a place.
  std::size_t reasons() const;

 private:
  struct record {
    std::uint64_t count = 0;
    std::uint64_t reported = 0;
    /// The next line comes at the first event from then on.
    time_point due = time_point::min();
    time_point last_event = time_point::min();
  };
  using records = std::map<std::string, record, std::less<>>;

  std::string cleaned(std::string_view reason) const;
  record& record_of(std::string& reason, std::string_view otherwise, time_point now);
  bool has_place(time_point now);

  const clock now_;
  const limited_log_options options_;
  mutable std::mutex mutex_;
  records records_;
  /// Those that stand for others; the program's constants bound their number.
  records general_;
  /// Before then no place becomes free.
  time_point next_free_ = time_point::min();
};

}  // namespace troupe
