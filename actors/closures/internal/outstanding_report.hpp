// Says in one line why closures have not ended: what each does, alike ones together.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

class outstanding_report {
 public:
  /// Kinds that are listed; of all others only the number is told.
  static constexpr std::size_t kinds_max = 8;

  /// So many closures more, of which `what` is true ("step(int) on /job:worker/task:0 computes").
  void add(std::string what, std::size_t count = 1);
  /// The same, and it has been for so long; of alike ones the longest time is told.
  void add(std::string what, duration time);

  /// Kinds that find no place in the text.
  bool is_full() const { return kinds_.size() >= kinds_max; }
  /// `total` closures have not ended, listed or not.
  std::string text(std::size_t total) const;

 private:
  struct kind {
    std::string what;
    std::size_t count = 0;
    duration longest{-1};
  };
  kind* find_or_make(std::string what);

  std::vector<kind> kinds_;
};

}  // namespace troupe
