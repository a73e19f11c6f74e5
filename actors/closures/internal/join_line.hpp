// What each join waits for.
//
// A join waits for the closures that were scheduled before it, and for no later ones: a thread that goes on scheduling
// must not keep another from ever hearing. So joins cut the sequence of closures into stretches, and a join is over
// when all stretches before it are:
//
//   closures   1 2 3 | 4 5 | 6 7 ...
//                  join   join
//
// A closure is in its stretch until it has ended and no worker runs it any more. O(1) for each closure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace troupe {

class join_line {
 public:
  /// So many closures more; the number of their stretch.
  std::uint64_t enter(std::size_t count) {
    inside_ += count;
    stretches_.back() += count;
    return first_ + stretches_.size() - 1;
  }

  void leave(std::uint64_t stretch) {
    --inside_;
    --stretches_[stretch - first_];
    while (stretches_.size() > 1 && stretches_.front() == 0) {
      stretches_.pop_front();
      ++first_;
    }
  }

  /// A join comes. Begins a new stretch, and returns its number, unless nothing would lie before it that doesn't
  /// already.
  std::uint64_t cut() {
    if (stretches_.back() != 0) stretches_.push_back(0);
    return first_ + stretches_.size() - 1;
  }

  /// Whether every closure before this stretch has left.
  bool is_first(std::uint64_t stretch) const { return first_ >= stretch; }

  /// Closures in all stretches.
  std::size_t inside() const { return inside_; }

 private:
  std::deque<std::size_t> stretches_{0};
  std::uint64_t first_ = 0;
  std::size_t inside_ = 0;
};

}  // namespace troupe
