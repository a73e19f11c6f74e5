#include <troupe/actors/closures/internal/worker_trays.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

// --- the worker's side ----------------------------------------------------------------------------------------------

void worker_trays::begin(session_id session, outcome_sink coordinator) {
  const std::scoped_lock lock{mutex_};
  session_ = session;
  coordinator_ = std::move(coordinator);
  taken_ = 0;
  recall_ = 0;
}

void worker_trays::end() {
  // What orders and outcomes carry ends outside of the lock.
  std::deque<closure_order> orders;
  std::vector<closure_outcome> outcomes;
  outcome_sink coordinator;
  const std::scoped_lock lock{mutex_};
  session_ = 0;
  coordinator.swap(coordinator_);
  orders.swap(orders_);
  outcomes.swap(outcomes_);
}

void worker_trays::begin_turn() {
  const std::scoped_lock lock{mutex_};
  busy_ = true;
}

void worker_trays::put(std::vector<closure_order> orders) {
  const std::scoped_lock lock{mutex_};
  for (auto& order : orders) {
    taken_ = std::max(taken_, order.number);
    if (!is_given_back(order)) orders_.push_back(std::move(order));
  }
}

std::optional<closure_order> worker_trays::take(std::vector<closure_outcome>& ended) {
  const std::scoped_lock lock{mutex_};
  add(ended);
  if (orders_.empty()) return {};
  auto first = std::move(orders_.front());
  orders_.pop_front();
  return first;
}

bool worker_trays::remove(closure_id id) {
  const std::scoped_lock lock{mutex_};
  return std::erase_if(orders_, [id](const auto& order) { return order.id == id; }) != 0;
}

std::vector<closure_id> worker_trays::orders() const {
  const std::scoped_lock lock{mutex_};
  std::vector<closure_id> ids;
  ids.reserve(orders_.size());
  for (const auto& order : orders_) ids.push_back(order.id);
  return ids;
}

worker_trays::contents worker_trays::take_outcomes(std::vector<closure_outcome>& ended, bool turn_ends) {
  const std::scoped_lock lock{mutex_};
  add(ended);
  if (turn_ends) busy_ = false;
  return {std::exchange(outcomes_, {}), recall_, !orders_.empty()};
}

void worker_trays::put_outcomes(std::vector<closure_outcome>& ended) {
  const std::scoped_lock lock{mutex_};
  add(ended);
}

// Whoever has put outcomes here after the alarm was taken off sees that, by the lock that both held.
bool worker_trays::set_alarm() {
  return !alarm_is_set_.load(std::memory_order_relaxed) && !alarm_is_set_.exchange(true, std::memory_order_relaxed);
}

void worker_trays::add(std::vector<closure_outcome>& ended) {
  if (outcomes_.empty())
    outcomes_.swap(ended);
  else
    std::move(ended.begin(), ended.end(), std::back_inserter(outcomes_));
  ended.clear();
}

// --- the desk's -----------------------------------------------------------------------------------------------------

std::optional<recalled_orders> worker_trays::give_back(session_id session, std::uint64_t recall) {
  std::deque<closure_order> given;
  const std::scoped_lock lock{mutex_};
  if (session != session_) return {};
  // What is under way to a worker that hears begins once it is here: its data is not moved twice.
  recall_ = std::max(recall_, busy_ ? recall : std::min(recall, taken_));
  recalled_orders told{.taken = taken_, .closures = {}, .busy = busy_};
  for (auto& order : std::exchange(orders_, {})) {
    if (is_given_back(order)) told.closures.push_back(order.id);
    (is_given_back(order) ? given : orders_).push_back(std::move(order));
  }
  return told;
}

worker_trays::unsent_outcomes worker_trays::take_outcomes_of_busy() {
  const std::scoped_lock lock{mutex_};
  alarm_is_set_.store(false, std::memory_order_relaxed);
  if (!busy_) return {};
  return {coordinator_, session_, std::exchange(outcomes_, {})};
}

}  // namespace troupe
