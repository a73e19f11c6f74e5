// The coordinator's errors: how they are raised, who waits for them, and what is cancelled before.
#include <troupe/actors/closures/coordinator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace troupe {

namespace {

constexpr auto another_failed = "cancelled because another closure failed; schedule it again if it is needed";

}  // namespace

// --- joins ----------------------------------------------------------------------------------------------------------

caf::result<bool> coordinator_state::drained(duration limit) {
  auto promise = self_->make_response_promise<drained_promise>();
  const auto deadline = later(clock_.now(), limit);
  timers::ticket timer;
  if (deadline != never) timer = clock_.at(deadline, [this] { const turn scope{*this}; });
  joins_.push_back({promise, join_line_.cut(), deadline, timer});
  if (!errors_.empty()) cancel_generation();
  return promise;
}

caf::result<bool> coordinator_state::idle() {
  auto promise = self_->make_response_promise<idle_promise>();
  idle_questions_.push_back(promise);
  if (!errors_.empty()) cancel_generation();
  return promise;
}

void coordinator_state::answer_joins() {
  // The error comes first.
  if (cancelling_) return;
  for (auto& promise : std::exchange(idle_questions_, {})) promise.deliver(join_line_.inside() == 0);
  std::erase_if(joins_, [this](auto& join) {
    if (!join_line_.is_first(join.stretch)) return false;
    clock_.cancel(join.timer);
    join.promise.deliver(true);
    return true;
  });
}

void coordinator_state::answer_late_joins() {
  const auto now = clock_.now();
  const auto is_late = [now](auto& join) {
    if (join.deadline > now) return false;
    join.promise.deliver(false);
    return true;
  };
  std::erase_if(joins_, is_late);
  std::erase_if(raising_joins_, is_late);
}

// --- errors ---------------------------------------------------------------------------------------------------------

/// A cancellation is no error, nor is it that the time of what has scheduled it is over.
bool coordinator_state::is_raised(const closure& failed, const status& why) {
  return failed.raises_errors && why.code() != status_code::cancelled &&
         !(failed.bounded_by_scheduler && why.code() == status_code::deadline_exceeded);
}

void coordinator_state::note_error(const closure& failed, const status& why) {
  if (!failed.raises_errors) return;
  keep_error(why);
  announce_errors(why, 1);
}

void coordinator_state::keep_error(const status& why) {
  assert(turns_ != 0);
  constexpr std::size_t errors_max = 1000;
  if (errors_.size() < errors_max) errors_.push_back(why);
  submitted_->error_pending.store(true, std::memory_order_release);
}

/// That were kept.
void coordinator_state::announce_errors(const status& first, std::uint64_t count) {
  publish({.kind = event_kind::closure_failed, .count = count, .why = first});
  if ((!joins_.empty() || !idle_questions_.empty()) && !cancelling_) cancel_generation();
}

/// Somebody waits and there is an error: nothing starts any more, and when nothing runs any more the error is raised.
void coordinator_state::cancel_generation() {
  std::move(joins_.begin(), joins_.end(), std::back_inserter(raising_joins_));
  joins_.clear();
  std::move(idle_questions_.begin(), idle_questions_.end(), std::back_inserter(raising_questions_));
  idle_questions_.clear();
  if (!cancelling_) cancelling_ = cancelling_course{};
}

/// Tells workers to end what they hold, which only becomes less from now on.
void coordinator_state::tell_workers() {
  const status why{status_code::cancelled, another_failed};
  for (auto& next = cancelling_->told; next < roster_.all().size() && turn_left_ != 0; ++next) {
    auto& worker = *roster_.all()[next];
    auto held = in_flight_.held_by(worker.index);
    if (held.empty()) continue;
    turn_left_ -= std::min(turn_left_, held.size());
    send_cancel(worker, std::move(held), {}, why);
  }
}

/// Ends what waits for a worker, and so what waits for that. False: some may be left.
bool coordinator_state::end_waiting() {
  const auto before = open_;
  const auto why = errors_.front().wrap(status_code::cancelled, another_failed);
  const auto end_some = [&](std::deque<closure_ptr>& waiting) {
    for (; !waiting.empty() && turn_left_ != 0; --turn_left_) {
      const auto each = std::move(waiting.front());
      waiting.pop_front();
      if (!each->ended()) end(*each, why);
    }
  };
  queued_count_ = 0;
  for (auto& level : queued_) {
    end_some(level);
    queued_count_ += level.size();
  }
  end_some(stranded_);
  end_some(suspects_);
  for (const auto& worker : roster_.all()) end_some(worker->tagged);
  pass_on_ends();
  cancelling_->ended += before - open_;
  return turn_left_ != 0;
}

/// Goes on with a generation that is being cancelled, to its end when nothing of it runs or waits any more (C-2).
/// False: there was nothing to end, or it goes on later.
bool coordinator_state::raise_errors() {
  if (!cancelling_) return false;
  tell_workers();
  if (cancelling_->told < roster_.all().size() || in_flight_.count() != 0) return false;
  if (!arrivals_.empty() || !end_waiting()) return false;
  const auto first = errors_.front();
  publish({.kind = event_kind::generation_cancelled, .count = cancelling_->ended, .why = first});
  cancelling_.reset();
  // Whoever waited may have gone: then the error stays for who comes next.
  answer_late_joins();
  if (raising_joins_.empty() && raising_questions_.empty()) return true;
  last_errors_ = std::exchange(errors_, {});
  submitted_->error_pending.store(false, std::memory_order_release);
  release_ended();  // whoever hears of the error finds room
  for (auto& join : std::exchange(raising_joins_, {})) {
    clock_.cancel(join.timer);
    join.promise.deliver(make_error(first));
  }
  for (auto& promise : std::exchange(raising_questions_, {})) promise.deliver(make_error(first));
  return true;
}

// --- cancellations --------------------------------------------------------------------------------------------------

/// A worker was told to end these: it must say so within `cancel_limit`.
void coordinator_state::expect_end(const std::vector<closure_id>& cancelled) {
  const auto limit = later(clock_.now(), options_.cancel_limit);
  for (const auto id : cancelled) cancellations_.push_back({id, limit});
  if (cancellations_timed_ || cancellations_.empty()) return;
  cancellations_timed_ = true;
  clock_.at(cancellations_.front().limit, [this] { check_cancellations(); });
}

void coordinator_state::check_cancellations() {
  const turn scope{*this};
  const auto now = clock_.now();
  std::map<int, std::vector<closure_id>> late;
  for (auto left = options_.turn_closures_max; left != 0 && !cancellations_.empty(); --left) {
    const auto first = cancellations_.front();
    const auto* held = in_flight_.find(first.id);
    if (held != nullptr && first.limit > now) break;
    cancellations_.pop_front();
    if (held == nullptr || held->worker == in_flight_table::adrift) continue;
    // It may have answered: its answers take their turn after results whose tensors are under way, within their limit.
    if (outcomes_->waits(roster_.at(held->worker).session))
      cancellations_.push_back({first.id, later(now, options_.cancel_limit)});
    else
      late[held->worker].push_back(first.id);
  }
  for (auto& [worker, closures] : late) {
    const auto number = [this](closure_id id) { return in_flight_.find(id)->number; };
    std::sort(closures.begin(), closures.end(), [&](auto a, auto b) { return number(a) < number(b); });
    recall_cancelled(roster_.at(worker), closures);
  }
  cancellations_timed_ = !cancellations_.empty();
  if (cancellations_timed_) clock_.at(cancellations_.front().limit, [this] { check_cancellations(); });
}

status coordinator_state::did_not_end(const worker_entry& worker, const closure& cancelled) const {
  return {status_code::unavailable,
          fmt::format("/job:worker/task:{} did not end {} within {} ms of its cancellation (cancel_limit); closures "
                      "that compute for long call fiber_host::throw_if_cancelled() now and then",
                      worker.index, to_string(cancelled.function), in_milliseconds(options_.cancel_limit))};
}

}  // namespace troupe
