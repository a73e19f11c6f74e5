#include <troupe/actors/closures/internal/outstanding_report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

void outstanding_report::add(std::string what, std::size_t count) {
  if (auto* const alike = find_or_make(std::move(what))) alike->count += count;
}

void outstanding_report::add(std::string what, duration time) {
  auto* const alike = find_or_make(std::move(what));
  if (alike == nullptr) return;
  ++alike->count;
  alike->longest = std::max(alike->longest, time);
}

/// Nullptr: there is no place left.
outstanding_report::kind* outstanding_report::find_or_make(std::string what) {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const kind& each) { return each.what == what; });
  if (found != kinds_.end()) return &*found;
  if (is_full()) return nullptr;
  return &kinds_.emplace_back(kind{.what = std::move(what)});
}

std::string outstanding_report::text(std::size_t total) const {
  auto text = fmt::format("{} {} not ended", total, total == 1 ? "closure has" : "closures have");
  std::size_t listed = 0;
  for (const auto& [what, count, longest] : kinds_) {
    text += listed == 0 ? ": " : "; ";
    if (count > 1) text += fmt::format("{} x ", count);
    text += what;
    if (longest >= duration::zero()) text += fmt::format(" ({} ms)", in_milliseconds(longest));
    listed += count;
  }
  if (listed < total && listed != 0) text += fmt::format("; and {} more", total - listed);
  return text;
}

}  // namespace troupe
