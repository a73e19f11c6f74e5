// Which alarms somebody has set on CAF's clock.
//
// Problem: that clock forgets no alarm before its time. Whoever sets one for each deadline, or one more each time that
// a near deadline has passed and a far one is the next, leaves more and more of them there. Solution: an alarm is set
// only if none comes as early already. When it comes, the next deadline is looked at in the same way, so that one far
// deadline and many near ones need two.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <vector>

namespace troupe {

class alarms {
 public:
  /// Whether one must be set for this time; it then counts as set. False: an earlier one comes, or nothing does,
  /// `never`.
  bool need(time_point when) {
    if (when == never || (!set_.empty() && set_.back() <= when)) return false;
    set_.push_back(when);
    return true;
  }
  /// Those up to this time have come.
  void pass(time_point reached) {
    while (!set_.empty() && set_.back() <= reached) set_.pop_back();
  }
  /// Nobody hears those that are still to come.
  void forget() { set_.clear(); }

 private:
  /// Each earlier than those before it.
  std::vector<time_point> set_;
};

}  // namespace troupe
