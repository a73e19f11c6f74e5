#include <troupe/actors/fibers/limited_log.hpp>
#include <troupe/device/base/printable_text.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

limited_log::limited_log(clock now, limited_log_options options) : now_(std::move(now)), options_(options) {}

std::optional<limited_log::line> limited_log::add(std::string_view reason, std::string_view otherwise) {
  auto text = cleaned(reason);
  const std::scoped_lock lock{mutex_};
  const auto now = now_();
  auto& entry = record_of(text, otherwise, now);
  ++entry.count;
  entry.last_event = now;
  if (now < entry.due) return std::nullopt;
  entry.due = later(now, options_.interval);
  const auto count = entry.count - std::exchange(entry.reported, entry.count);
  return line{std::move(text), count};
}

std::uint64_t limited_log::count_of(std::string_view reason) const {
  const auto text = cleaned(reason);
  const std::scoped_lock lock{mutex_};
  const auto found = records_.find(text);
  return found == records_.end() ? 0 : found->second.count;
}

std::size_t limited_log::reasons() const {
  const std::scoped_lock lock{mutex_};
  return records_.size();
}

std::string limited_log::cleaned(std::string_view reason) const {
  return printable_text(reason, options_.reason_bytes_max);
}

/// Changes `reason` to what the event is counted as.
limited_log::record& limited_log::record_of(std::string& reason, std::string_view otherwise, time_point now) {
  if (const auto known = records_.find(reason); known != records_.end()) return known->second;
  if (has_place(now)) return records_[reason];
  reason = otherwise;
  return general_[reason];
}

/// Frees the places of all reasons that have not occurred for an interval when no other place is left.
bool limited_log::has_place(time_point now) {
  if (records_.size() < options_.reasons_max) return true;
  // Without this limit, each event of a new reason would cost a look at all others.
  if (now < next_free_) return false;
  next_free_ = never;
  std::erase_if(records_, [&](const auto& each) {
    const auto free = later(each.second.last_event, options_.interval);
    if (free > now) next_free_ = std::min(next_free_, free);
    return free <= now;
  });
  return records_.size() < options_.reasons_max;
}

}  // namespace troupe
