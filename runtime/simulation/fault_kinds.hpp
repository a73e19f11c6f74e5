// What the kinds of failures have in common: what they are about, and so when they happen.
#pragma once

#include <troupe/runtime/fault_plan.hpp>

namespace troupe {

/// They happen to the n-th message that fits.
inline bool is_of_messages(fault_kind what) { return what >= fault_kind::drop && what <= fault_kind::corrupt; }

/// They happen when a point of the code is reached for the n-th time.
inline bool is_of_points(fault_kind what) { return what >= fault_kind::fail_at && what <= fault_kind::hang_at; }

/// They happen to a link of two hosts.
inline bool is_of_links(fault_kind what) { return what >= fault_kind::cut && what <= fault_kind::slow_link_one_way; }

/// They make a link slow, in one direction or both.
inline bool is_slow_link(fault_kind what) {
  return what == fault_kind::slow_link || what == fault_kind::slow_link_one_way;
}

/// They happen at a time, or after something else has happened; others have a place instead.
inline bool has_time(fault_kind what) { return what < fault_kind::drop; }

/// They wait for something else than the time since the start.
inline bool has_condition(const planned_fault& fault) {
  return !fault.when.empty() || fault.when_sent != message_pattern{};
}

/// What and where it is, without its time and how much of it there is.
std::string site_of(const planned_fault& fault);

}  // namespace troupe
