#include <troupe/runtime/bulk/bulk_offers.hpp>

#include <fmt/format.h>

#include <vector>

namespace troupe {

std::uint64_t bulk_offers::add(buffer content, loop_clock::time_point expiry) {
  const std::scoped_lock lock{mutex_};
  const auto size_bytes = content.size_bytes();
  const auto range = std::pair{content.data(), size_bytes};
  const auto added_bytes = shared_by_.contains(range) ? 0 : size_bytes;
  if (offers_.size() >= count_max_ || added_bytes > bytes_max_ - bytes_) {
    throw resource_exhausted_error{fmt::format(
        "{} offers of {} bytes wait for their receivers, another of {} bytes is over the limit of {} offers and {} "
        "bytes; send less at once, or raise offers_max or offered_bytes_max of tcp_bulk_options",
        offers_.size(), bytes_, size_bytes, count_max_, bytes_max_)};
  }
  const auto number = ++last_number_;
  offers_.emplace(number, offered{std::move(content), expiry});
  by_expiry_.emplace(expiry, number);
  ++shared_by_[range];
  bytes_ += added_bytes;
  return number;
}

buffer bulk_offers::remove(std::uint64_t number) {
  auto entry = offers_.extract(number);
  auto& [content, expiry, taken_bytes] = entry.mapped();
  by_expiry_.erase({expiry, number});
  const auto range = shared_by_.find({content.data(), content.size_bytes()});
  if (--range->second == 0) {
    bytes_ -= content.size_bytes();
    shared_by_.erase(range);
  }
  return std::move(content);
}

bulk_offers::taking bulk_offers::take(std::uint64_t number, std::uint64_t size_bytes, const bulk_part& part) {
  const std::scoped_lock lock{mutex_};
  const auto found = offers_.find(number);
  if (found == offers_.end() || found->second.expiry <= loop_clock::now()) return {};
  auto& held = found->second;
  const auto held_bytes = held.content.size_bytes();
  const auto is_inside = part.offset_bytes <= held_bytes && part.size_bytes <= held_bytes - part.offset_bytes;
  if (held_bytes != size_bytes || !is_inside)
    return {.answer = bulk_answer::other_size, .content = {}, .size_bytes = held_bytes};
  const auto rest_bytes = held_bytes - held.taken_bytes;
  if (part.size_bytes < rest_bytes) {
    held.taken_bytes += part.size_bytes;
    return {bulk_answer::found, held.content.slice(part.offset_bytes, part.size_bytes), held_bytes};
  }
  auto content = remove(number);
  if (part.size_bytes < held_bytes) content = content.slice(part.offset_bytes, part.size_bytes);
  return {.answer = bulk_answer::found, .content = std::move(content), .size_bytes = held_bytes};
}

std::optional<loop_clock::time_point> bulk_offers::expire() {
  std::vector<buffer> dropped;  // freed after the lock
  const std::scoped_lock lock{mutex_};
  const auto now = loop_clock::now();
  while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) dropped.push_back(remove(by_expiry_.begin()->second));
  if (by_expiry_.empty()) return std::nullopt;
  return by_expiry_.begin()->first;
}

}  // namespace troupe
