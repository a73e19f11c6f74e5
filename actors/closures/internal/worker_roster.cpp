#include <troupe/actors/closures/internal/worker_roster.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

worker_roster::worker_roster(int count, window_options options) : options_(options) {
  for (int index = 0; index < count; ++index) {
    entries_.push_back(std::make_unique<worker_entry>());
    entries_.back()->index = index;
  }
}

worker_entry* worker_roster::find(int index) {
  return index >= 0 && static_cast<std::size_t>(index) < entries_.size() ? &at(index) : nullptr;
}

worker_entry* worker_roster::find(const caf::actor_addr& handle) {
  for (const auto& worker : entries_)
    if (worker->at != worker_entry::admission::gone && worker->handle.address() == handle) return worker.get();
  return nullptr;
}

void worker_roster::admit(worker_entry& worker, time_point now) {
  worker.at = worker_entry::admission::admitted;
  set_in_flight(worker, 0);
  worker.waiting = 0;
  worker.service_ns = 0;
  worker.window = options_.slots;
  worker.busy_since = now;
  worker.last_number = worker.held_since_before = worker.recalls = worker.found_busy = worker.heard = 0;
  ++admitted_;
  offer(worker);
}

void worker_roster::dismiss(worker_entry& worker) {
  if (worker.at == worker_entry::admission::admitted) --admitted_;
  worker.at = worker_entry::admission::gone;
  worker.handle = nullptr;
  worker.desk = nullptr;
  worker.door = nullptr;
  set_in_flight(worker, 0);
  worker.outgoing.clear();
  worker.outgoing_builds.clear();
  worker.set_apart = false;
  worker.suspect = 0;
  worker.expired.clear();
}

worker_entry* worker_roster::next(std::size_t queued, std::uint32_t& share) {
  while (!idle_.empty()) {
    auto& worker = at(idle_.front());
    idle_.pop_front();
    worker.in_idle = false;
    if (worker.busy() != 0 || credit(worker) == 0) continue;
    // It stands in the other line, too, and stays there.
    const auto level = (queued + free_.in_flight) / std::max<std::size_t>(free_.workers.size(), 1);
    share = share_of(level, worker, std::min<std::size_t>(options_.slots, queued));
    return &worker;
  }
  while (!free_.workers.empty()) {
    auto& worker = leave(free_, &worker_entry::in_free);
    if (credit(worker) == 0 || worker.busy() >= options_.slots) continue;
    share = share_of(level_with(worker, free_, queued), worker,
                     std::min<std::size_t>(options_.slots - worker.busy(), queued));
    return &worker;
  }
  while (!prefetch_.workers.empty()) {
    auto& worker = leave(prefetch_, &worker_entry::in_prefetch);
    if (credit(worker) == 0) continue;
    share = share_of(level_with(worker, prefetch_, queued), worker, std::min<std::size_t>(credit(worker), queued));
    return &worker;
  }
  return nullptr;
}

/// Rounded down: a remainder goes round one by one, instead of leaving nothing for the last ones.
std::size_t worker_roster::level_with(const worker_entry& worker, const line& others, std::size_t queued) {
  return (queued + others.in_flight + worker.in_flight) / (others.workers.size() + 1);
}

std::uint32_t worker_roster::share_of(std::size_t level, const worker_entry& worker, std::size_t most) {
  const auto missing = level > worker.in_flight ? level - worker.in_flight : 0;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(missing, 1, most));
}

void worker_roster::offer(worker_entry& worker) {
  if (credit(worker) == 0) return;
  if (worker.busy() == 0 && !std::exchange(worker.in_idle, true)) idle_.push_back(worker.index);
  if (worker.busy() < options_.slots)
    enter(free_, worker, worker.in_free);
  else
    enter(prefetch_, worker, worker.in_prefetch);
}

void worker_roster::enter(line& to, worker_entry& worker, bool& is_in) {
  if (std::exchange(is_in, true)) return;
  to.workers.push_back(worker.index);
  to.in_flight += worker.in_flight;
}

worker_entry& worker_roster::leave(line& from, bool worker_entry::*is_in) {
  auto& worker = at(from.workers.front());
  from.workers.pop_front();
  from.in_flight -= worker.in_flight;
  worker.*is_in = false;
  return worker;
}

void worker_roster::set_in_flight(worker_entry& worker, std::uint32_t count) {
  if (worker.in_free) free_.in_flight = free_.in_flight - worker.in_flight + count;
  if (worker.in_prefetch) prefetch_.in_flight = prefetch_.in_flight - worker.in_flight + count;
  worker.in_flight = count;
}

void worker_roster::sent(worker_entry& worker, time_point now) {
  if (worker.in_flight == 0) worker.busy_since = now;
  set_in_flight(worker, worker.in_flight + 1);
}

void worker_roster::waits(worker_entry& worker, std::uint32_t waiting) {
  worker.waiting = waiting;
  offer(worker);
}

void worker_roster::heard(worker_entry& worker, std::uint64_t recall) {
  if (recall <= worker.heard) return;
  worker.heard = recall;
  offer(worker);
}

void worker_roster::gave_back(worker_entry& worker, std::uint32_t count, std::uint64_t recall, finding found) {
  set_in_flight(worker, worker.in_flight - std::min(count, worker.in_flight));
  if (found == finding::in_a_closure) worker.found_busy = std::max(worker.found_busy, recall);
  if (found == finding::full) worker.window = std::max(worker.busy(), 1u);
  offer(worker);
}

void worker_roster::ended(worker_entry& worker, std::uint32_t count, time_point now) {
  set_in_flight(worker, worker.in_flight - std::min(count, worker.in_flight));
  const auto elapsed = std::chrono::duration<double, std::nano>(now - worker.busy_since).count();
  const auto sample = elapsed / std::max(count, 1u);
  // A batch of many is better evidence than a single closure, whose time is mostly the link's.
  const auto weight = std::min(0.5, 0.1 + 0.01 * count);
  worker.service_ns = worker.service_ns == 0 ? sample : (1 - weight) * worker.service_ns + weight * sample;
  worker.busy_since = now;
  worker.window = window_of(worker.service_ns);
  offer(worker);
}

std::uint32_t worker_roster::window_of(double service_ns) const {
  const auto horizon = std::chrono::duration<double, std::nano>(options_.prefetch_horizon).count();
  const auto ahead = horizon / std::max(service_ns, 1.0);
  const auto most = options_.window_max > options_.slots ? options_.window_max - options_.slots : 0;
  return options_.slots + static_cast<std::uint32_t>(std::min<double>(ahead, most));
}

}  // namespace troupe
