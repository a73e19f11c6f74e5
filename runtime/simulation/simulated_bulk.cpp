#include <troupe/runtime/simulation/simulated_bulk.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

simulated_process* simulated_bulk::caller() const {
  return turns_.running != nullptr && network_.runs(*turns_.running) ? turns_.running : nullptr;
}

bulk_ticket simulated_bulk::offer(buffer content, duration lifetime) {
  const auto size_bytes = static_cast<std::uint64_t>(content.size_bytes());
  const auto* const by = caller();
  // What a process says while it ends reaches nobody.
  if (by == nullptr) return {"nowhere", 0, size_bytes};
  std::erase_if(offers_, [this](const auto& each) { return each.second.expires < plan_.now(); });
  offers_.emplace(++last_number_, offered{by, by->host(), std::move(content), later(plan_.now(), lifetime)});
  return {by->name(), last_number_, size_bytes};
}

void simulated_bulk::fetch(const bulk_ticket& ticket, std::span<std::byte> destination, duration limit,
                           std::function<void(status)> done) {
  auto* const by = caller();
  if (by == nullptr) return done({status_code::unavailable, "the process ends"});
  const auto transfer = std::chrono::nanoseconds{ticket.size_bytes * 1'000'000'000 / bytes_per_second_};
  const auto number = ++last_number_;
  auto& made = fetches_[number];
  made.by = by;
  made.ticket = ticket;
  made.destination = destination;
  const auto from = network_.find_host(ticket.endpoint).value_or(by->host());
  made.arrives = plan_.now() + network_.latency(from, by->host()) +
                 std::max(transfer, network_.transfer_time(from, by->host(), ticket.size_bytes));
  made.deadline = later(plan_.now(), limit);
  made.done = std::move(done);
  made.alarm.emplace(plan_, by, "large tensor", [this, number] { return end(number); });
  made.alarm->set(due(made));
}

void simulated_bulk::detach(const simulated_process& process) {
  for (auto& [_, each] : offers_)
    if (each.by == &process) each.by = nullptr;
  // Who waits for them is dead, too.
  std::erase_if(fetches_, [&](const auto& each) { return each.second.by == &process; });
  look_at_all();
}

void simulated_bulk::look_at_all() {
  for (auto& [_, fetch] : fetches_) fetch.alarm->set(due(fetch));
}

bool simulated_bulk::passes(const open_fetch& fetch) const {
  const auto found = offers_.find(fetch.ticket.number);
  // Its host answers that there is no such process, or no such offer.
  if (found == offers_.end()) return true;
  const auto& from = found->second;
  return network_.reaches(from.host, fetch.by->host()) && network_.reaches(fetch.by->host(), from.host) &&
         (from.by == nullptr || !from.by->stands_still());
}

time_point simulated_bulk::due(const open_fetch& fetch) const {
  if (fetch.by->stands_still()) return never;
  return passes(fetch) ? std::min(fetch.arrives, fetch.deadline) : fetch.deadline;
}

bool simulated_bulk::end(std::uint64_t number) {
  const auto ended = fetches_.extract(number);
  ended.mapped().done(outcome(ended.mapped()));
  return true;
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
