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
  last_announced_ = 0;
  recall_ = 0;
}

void worker_trays::end() {
  // What orders and outcomes carry ends outside of the lock.
  std::deque<closure_order> orders;
  std::deque<announced> under_way;
  std::vector<closure_outcome> outcomes;
  outcome_sink coordinator;
  const std::scoped_lock lock{mutex_};
  session_ = 0;
  coordinator.swap(coordinator_);
  orders.swap(orders_);
  under_way.swap(under_way_);
  outcomes.swap(outcomes_);
  given_.clear();
}

void worker_trays::begin_turn() {
  const std::scoped_lock lock{mutex_};
  busy_ = true;
}

bool worker_trays::announce(std::uint64_t first, std::uint64_t last, std::shared_ptr<const wire_arrival> arrival) {
  const std::scoped_lock lock{mutex_};
  if (first <= last_announced_ || last < first) return false;
  last_announced_ = last;
  if (forget_if_all_given(first, last)) return false;
  under_way_.push_back({first, last, std::move(arrival)});
  return true;
}

void worker_trays::put(std::uint64_t first, std::vector<closure_order> orders) {
  const std::scoped_lock lock{mutex_};
  std::erase_if(under_way_, [first](const auto& each) { return each.first == first; });
  for (auto& order : orders)
    if (given_.empty() || given_.erase(order.number) == 0) orders_.push_back(std::move(order));
}

bool worker_trays::lose(std::uint64_t first, std::uint64_t last) {
  const std::scoped_lock lock{mutex_};
  std::erase_if(under_way_, [first](const auto& each) { return each.first == first; });
  return forget_if_all_given(first, last);
}

bool worker_trays::forget_if_all_given(std::uint64_t first, std::uint64_t last) {
  const auto begin = given_.lower_bound(first);
  const auto end = given_.upper_bound(last);
  if (static_cast<std::uint64_t>(std::distance(begin, end)) != last - first + 1) return false;
  given_.erase(begin, end);
  return true;
}

std::optional<closure_order> worker_trays::take(std::vector<closure_outcome>& ended) {
  const std::scoped_lock lock{mutex_};
  add(ended);
  if (orders_.empty()) return {};
  std::optional<closure_order> first{std::move(orders_.front())};
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

std::size_t worker_trays::size() const {
  const std::scoped_lock lock{mutex_};
  return orders_.size();
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

std::optional<recalled_orders> worker_trays::give_back(session_id session, const order_recall& recall) {
  std::deque<closure_order> given;
  const std::scoped_lock lock{mutex_};
  if (session != session_) return {};
  recall_ = std::max(recall_, recall.serial);
  recalled_orders told{.given = {}, .kept = {}, .busy = busy_};
  for (auto& order : std::exchange(orders_, {})) {
    const auto is_wanted = std::binary_search(recall.numbers.begin(), recall.numbers.end(), order.number);
    if (is_wanted) told.given.push_back(order.number);
    (is_wanted ? given : orders_).push_back(std::move(order));
  }
  for (const auto number : recall.numbers) {
    const auto* const message = under_way(number);
    if (number <= last_announced_ && message == nullptr) continue;
    const auto is_coming = message != nullptr && message->arrival && message->arrival->waits.load();
    const auto is_given = busy_ && (!is_coming || recall.cancelled);
    if (is_given) given_.insert(number);
    (is_given ? told.given : told.kept).push_back(number);
  }
  return told;
}

/// Nullptr: no message that was announced, and not put here, has this order.
const worker_trays::announced* worker_trays::under_way(std::uint64_t number) const {
  const auto found = std::find_if(under_way_.begin(), under_way_.end(),
                                  [number](const auto& each) { return each.first <= number && number <= each.last; });
  return found == under_way_.end() ? nullptr : &*found;
}

worker_trays::unsent_outcomes worker_trays::take_outcomes_of_busy() {
  const std::scoped_lock lock{mutex_};
  alarm_is_set_.store(false, std::memory_order_relaxed);
  if (!busy_) return {};
  return {coordinator_, session_, std::exchange(outcomes_, {})};
}

}  // namespace troupe
