#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/values/inbox.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe {

namespace {

std::uint64_t bulk_bytes_of(const std::shared_ptr<wire_arrival>& arrival) {
  std::uint64_t result = 0;
  if (arrival)
    for (const auto& attachment : arrival->content.attachments) result += attachment.size_bytes();
  return result;
}

bool is_there(const std::shared_ptr<wire_arrival>& arrival) {
  return !arrival || !arrival->waits.load(std::memory_order_acquire);
}

}  // namespace

status inbox_lane::room_for(const std::shared_ptr<wire_arrival>& arrival) const {
  if (waiting_.size() >= limits_.messages_max)
    return {status_code::resource_exhausted,
            fmt::format("{} messages of one sender wait for the bulk data of an earlier one, the limit "
                        "(inbox_limits::messages_max); send fewer at once, or raise it",
                        waiting_.size())};
  const auto size_bytes = bulk_bytes_of(arrival);
  if (size_bytes > limits_.bytes_max - std::min(waiting_bytes_, limits_.bytes_max))
    return {status_code::resource_exhausted,
            fmt::format("messages of one sender with {} bytes of bulk data wait, and {} bytes more are over the limit "
                        "of {} (inbox_limits::bytes_max); send less at once, or raise it",
                        waiting_bytes_, size_bytes, limits_.bytes_max)};
  return {};
}

void inbox_lane::push(std::shared_ptr<wire_arrival> arrival, hand_over given) {
  const auto size_bytes = bulk_bytes_of(arrival);
  waiting_.push_back({arrival, size_bytes, std::move(given)});
  waiting_bytes_ += size_bytes;
  if (is_there(arrival)) return deliver();
  const auto limit = limits_.bulk_limit + bulk_transport::transfer_time(size_bytes);
  fetch_attachments(std::move(arrival), limit, make_notifier(self_, [lane = weak_from_this()] {
                      if (const auto here = lane.lock()) here->deliver();
                    }));
}

void inbox_lane::deliver() {
  // What a handler adds has its turn in the loop that runs that handler.
  if (delivering_) return;
  const auto alive = shared_from_this();
  std::optional<fiber_host::turn> together;
  if (fibers_ != nullptr) together.emplace(*fibers_);
  delivering_ = true;
  while (!waiting_.empty() && is_there(waiting_.front().arrival)) {
    const auto next = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= next.size_bytes;
    next.given({});
  }
  delivering_ = false;
  if (waiting_.empty() && emptied_) std::exchange(emptied_, {})();
}

void inbox_lane::end(const status& why) {
  emptied_ = {};
  waiting_bytes_ = 0;
  for (const auto& each : std::exchange(waiting_, {})) each.given(why);
}

void inbox_lane::drop() {
  emptied_ = {};
  waiting_.clear();
}

}  // namespace troupe
