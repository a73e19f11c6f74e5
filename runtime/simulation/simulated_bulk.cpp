#include <troupe/runtime/simulation/simulated_bulk.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

bulk_ticket simulated_bulk::offer(buffer content, duration lifetime) {
  const auto size_bytes = static_cast<std::uint64_t>(content.size_bytes());
  // What a process says while it ends reaches nobody.
  if (running_ == nullptr) return {"nowhere", 0, size_bytes};
  std::erase_if(offers_, [this](const auto& each) { return each.second.expires < now_; });
  const auto task = running_->who().task;
  offers_.emplace(++last_number_, offered{running_, task, std::move(content), later(now_, lifetime)});
  return {to_string(task), last_number_, size_bytes};
}

void simulated_bulk::fetch(const bulk_ticket& ticket, std::span<std::byte> destination, duration limit,
                           std::function<void(status)> done) {
  if (running_ == nullptr) return done({status_code::unavailable, "the process ends"});
  const auto transfer = std::chrono::nanoseconds{ticket.size_bytes * 1'000'000'000 / bytes_per_second_};
  fetches_.emplace(++last_number_, open_fetch{.by = running_,
                                              .ticket = ticket,
                                              .destination = destination,
                                              .arrives = now_ + network_.latency() + transfer,
                                              .deadline = later(now_, limit),
                                              .done = std::move(done)});
}

void simulated_bulk::detach(const simulated_node& node) {
  running_ = nullptr;
  for (auto& [_, each] : offers_)
    if (each.by == &node) each.by = nullptr;
  // Who waits for them is dead, too.
  std::erase_if(fetches_, [&](const auto& each) { return each.second.by == &node; });
}

bool simulated_bulk::passes(const open_fetch& fetch) const {
  const auto found = offers_.find(fetch.ticket.number);
  // Its host answers that there is no such process, or no such offer.
  if (found == offers_.end()) return true;
  const auto& from = found->second;
  return network_.reaches(fetch.by->who().task, from.task) && (from.by == nullptr || !from.by->frozen);
}

time_point simulated_bulk::due(const open_fetch& fetch) const {
  if (fetch.by->frozen) return never;
  return passes(fetch) ? std::min(fetch.arrives, fetch.deadline) : fetch.deadline;
}

void simulated_bulk::add_due(std::vector<std::uint64_t>& into) const {
  for (const auto& [number, fetch] : fetches_)
    if (due(fetch) <= now_) into.push_back(number);
}

time_point simulated_bulk::next() const {
  auto next = never;
  for (const auto& [_, fetch] : fetches_)
    if (const auto when = due(fetch); when > now_) next = std::min(next, when);
  return next;
}

void simulated_bulk::end(std::uint64_t number) {
  const auto ended = fetches_.extract(number);
  ended.mapped().done(outcome(ended.mapped()));
}

status simulated_bulk::outcome(const open_fetch& fetch) {
  if (!passes(fetch) || fetch.arrives > fetch.deadline)
    return {status_code::deadline_exceeded, "the bytes from " + fetch.ticket.endpoint + " did not come in time"};
  const auto found = offers_.find(fetch.ticket.number);
  if (found == offers_.end() || found->second.by == nullptr)
    return {status_code::unavailable, fetch.ticket.endpoint + " has no such offer, or no longer runs"};
  const auto& content = found->second.content;
  std::memcpy(fetch.destination.data(), content.data(), content.size_bytes());
  offers_.erase(found);
  return {};
}

}  // namespace troupe
