// The deadlines of closures with long limits.
//
// Nearly all closures end long before their limit, so that keeping it must cost next to nothing: no timer for each, and
// no look at all of them now and then, which would hold the coordinator up when they are many. Solution: a calendar
// with a page for each interval of time. A page is a list through its closures themselves, so one is entered and
// crossed out in O(1), and only what is left on a page when its interval is over is looked at.
//
// Limits are so kept to within one interval. The calendar owns no closure: whoever ends one crosses it out.
#pragma once

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/fibers/time.hpp>

#include <cstdint>
#include <map>

namespace troupe {

class deadline_calendar {
 public:
  explicit deadline_calendar(duration interval) : interval_(interval) {}
  deadline_calendar(const deadline_calendar&) = delete;

  /// Enters a closure that stands in no calendar, by its `deadline`.
  void enter(closure& which) {
    deadline_place& all = page_of(which.deadline);
    deadline_place& place = which;
    place.before = all.before;
    place.after = &all;
    all.before->after = &place;
    all.before = &place;
  }

  /// Does nothing with a closure that stands in no calendar.
  static void cross_out(deadline_place& which) {
    if (which.after == nullptr) return;
    which.before->after = which.after;
    which.after->before = which.before;
    which.before = which.after = nullptr;
  }

  /// When the first page with closures will be over; `never` without one.
  time_point next() {
    while (!pages_.empty() && pages_.begin()->second.empty()) drop_first();
    return pages_.empty() ? never : pages_.begin()->first;
  }

  /// Crosses out one closure of a page that is over; nullptr when there is none left.
  closure* take_late(time_point now) {
    if (next() > now) return nullptr;
    auto& late = *pages_.begin()->second.after;
    cross_out(late);
    return static_cast<closure*>(&late);
  }

 private:
  struct page : deadline_place {
    page() { before = after = this; }
    page(const page&) = delete;
    bool empty() const { return after == this; }
  };

  /// The page that will be over at the deadline, or soon after it.
  page& page_of(time_point deadline) {
    if (deadline > last_from_ && deadline <= last_over_) return *last_;
    const auto remainder = deadline.time_since_epoch() % interval_;
    last_over_ = remainder == duration::zero() ? deadline : later(deadline, interval_ - remainder);
    last_from_ = last_over_ - interval_;
    last_ = &pages_.try_emplace(last_over_).first->second;
    return *last_;
  }

  void drop_first() {
    if (last_ == &pages_.begin()->second) last_over_ = last_from_ = {};
    pages_.erase(pages_.begin());
  }

  const duration interval_;
  std::map<time_point, page> pages_;
  /// The page that was asked for last: closures that are scheduled one after the other mostly share it.
  page* last_ = nullptr;
  time_point last_from_{};
  time_point last_over_{};
};

}  // namespace troupe
