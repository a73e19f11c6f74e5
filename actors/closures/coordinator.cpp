#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace troupe {

namespace {

std::string describe(const closure& which) { return fmt::format("closure {}", to_string(which.function)); }

/// The longest that workers may take to say what their closures do.
constexpr duration inquiry_limit_max = std::chrono::seconds{10};

const status stopped{status_code::cancelled, "the coordinator has stopped"};

}  // namespace

void coordinator_options::check() const {
  if (windows.slots == 0 || windows.window_max == 0)
    throw invalid_argument_error{
        fmt::format("window_options::slots is {} and window_max {}, so that no worker would be given a closure; both "
                    "must be at least 1",
                    windows.slots, windows.window_max)};
  if (recall_interval <= duration::zero() || recall_limit <= duration::zero())
    throw invalid_argument_error{
        fmt::format("coordinator_options::recall_interval is {} ms and recall_limit {} ms; both must be positive",
                    in_milliseconds(recall_interval), in_milliseconds(recall_limit))};
  if (suspected_after == 0)
    throw invalid_argument_error{
        "coordinator_options::suspected_after is 0, so that each closure would run alone; it must be at least 1"};
  if (turn_closures_max == 0)
    throw invalid_argument_error{
        "coordinator_options::turn_closures_max is 0, so that no closure would ever be looked at; it must be at least "
        "1"};
}

coordinator_state::~coordinator_state() {
  ++turns_;
  // Every promise and every remote value is answered on this way out too (C-1).
  submitted_->close(stopped);
  for (const auto& arrived : arrivals_)
    for (auto next = arrived.taken_in; next < arrived.closures.size(); ++next) arrived.closures[next]->finish(stopped);
  events_ = nullptr;
  turn_left_ = std::numeric_limits<std::size_t>::max();
  pass_on_ends();
  const auto end_all = [this](const auto& all) {
    for (const auto& each : all)
      if (!each->ended()) end(*each, stopped);
  };
  for (const auto& level : queued_) end_all(level);
  end_all(stranded_);
  end_all(suspects_);
  for (const auto& worker : roster_.all()) {
    end_all(worker->tagged);
    in_flight_.set_adrift(worker->index);
  }
  for (const auto id : in_flight_.held_by(in_flight_table::adrift)) end_all(std::array{take_back(id)});
  pass_on_ends();
  for (auto& join : joins_) join.promise.deliver(make_error(stopped));
  for (auto& join : raising_joins_) join.promise.deliver(make_error(stopped));
  for (auto& promise : idle_questions_) promise.deliver(make_error(stopped));
  for (auto& promise : raising_questions_) promise.deliver(make_error(stopped));
  end_inquiries(stopped);
}

coordinator_state::turn::~turn() noexcept(false) {
  const struct closing {
    int& turns;
    ~closing() { --turns; }
  } last{of_.turns_};
  // A handler that throws ends the actor.
  if (of_.turns_ == 1 && exceptions_ == std::uncaught_exceptions()) of_.end_turn();
}

void coordinator_state::end_turn() {
  turn_left_ = options_.turn_closures_max;
  do {
    take_submitted();
    take_in();
    pass_on_ends();
    expire_late();
    tell_late_workers();
    send_out();
  } while (raise_errors());
  release_ended();
  answer_joins();
  answer_late_joins();
  clear_queues();
  watch_workers();
  if (turn_left_ == 0 || !arrivals_.empty()) return go_on_later();
  lookout_.idle();
}

void coordinator_state::go_on_later() {
  if (std::exchange(goes_on_later_, true)) return;
  make_notifier(self_, [this] {
    goes_on_later_ = false;
    const turn scope{*this};
  })();
}

coordinator_actor::behavior_type coordinator_state::make_behavior(std::shared_ptr<submission_queue> queue,
                                                                  coordinator_options options, event_bus_actor events) {
  tolerate_stray_messages(self_);
  submitted_ = std::move(queue);
  options_ = options;
  last_session_ = options_.first_session;
  events_ = std::move(events);
  roster_ = worker_roster{options_.workers, options_.windows};
  calendar_.emplace(options_.deadline_interval);
  outcomes_.emplace(self_, options_.inbox);
  self_->set_down_handler([this](caf::down_msg& down) {
    const turn scope{*this};
    if (auto* worker = roster_.find(down.source))
      lose(*worker, status_of(down.reason, fmt::format("the link to /job:worker/task:{}", worker->index)));
  });
  return {
      [this](outcome_atom, session_id session, std::uint64_t heard, wire<run_outcomes>& message) {
        const turn now{*this};
        auto* sender = admitted_in(session);
        if (sender == nullptr || !comes_from(*sender)) return;
        // At once: results may be under way for long.
        roster_.heard(*sender, heard);
        outcomes_->take(session, message, [this, session](wire<run_outcomes>& arrived, const status& problem) {
          const turn scope{*this};
          auto* worker = admitted_in(session);
          if (worker == nullptr) return;
          if (problem.ok()) return take_outcomes(*worker, arrived.take());
          // Which closures the message was about is unknown, so the worker's whole session is void.
          readmit(*worker, problem);
        });
      },
      [this](await_atom, session_id session, closure_id waiting, std::shared_ptr<const closure>& other) {
        const turn scope{*this};
        if (auto* const worker = admitted_in(session)) take_wait(*worker, waiting, std::move(other));
      },
      [this](submit_atom) { const turn scope{*this}; },
      [this](cancel_atom, const closure_ptr& unwanted) {
        const turn scope{*this};
        abandon(*unwanted, {status_code::cancelled, "cancelled by the owner of its remote value"});
        return when_over(*unwanted);
      },
      [this](resource_atom, wire<closure_order>& message) -> caf::result<caf::ok_atom> {
        const turn scope{*this};
        if (const auto problem = message.open(); !problem.ok()) return make_error(problem);
        const auto& order = *message;
        resources_.insert_or_assign(order.builds, order);
        for (const auto& worker : roster_.all()) {
          if (worker->at != worker_entry::admission::admitted) continue;
          worker->outgoing_builds.push_back(order);
          touch(*worker);
        }
        // Now: the thread may look out for the next message before this handler returns.
        auto promise = self_->make_response_promise<caf::typed_response_promise<caf::ok_atom>>();
        promise.deliver(caf::ok_atom_v);
        return promise;
      },
      [this](release_atom, resource_id id) {
        const turn scope{*this};
        resources_.erase(id);
        unsendable_.erase(id);
        for (const auto& worker : roster_.all())
          if (worker->at == worker_entry::admission::admitted) send_cancel(*worker, {}, {id}, {});
      },
      [this](up_atom, const member_actor& door, const worker_actor& handle, wire<member_identity>& who) {
        const turn scope{*this};
        if (handle && who.open().ok()) worker_up(door, handle, *who);
      },
      [this](up_atom, const parameter_server_actor& handle, wire<member_identity>& who) {
        if (handle && who.open().ok()) server_up(handle, *who);
      },
      [this](down_atom, wire<member_record>& message) {
        const turn scope{*this};
        if (!message.open().ok()) return;
        if (message->task.job == "ps") return server_down(*message);
        if (message->task.job != "worker") return;
        auto* worker = roster_.find(message->task.index);
        // One of an earlier process says nothing about this one (M-2).
        if (worker != nullptr && worker->who.incarnation == message->incarnation) lose(*worker, message->why);
      },
      [this](drained_atom, std::int64_t limit_ns) {
        const turn scope{*this};
        take_submitted();  // what was scheduled before
        return drained(duration{limit_ns});
      },
      [this](idle_atom) {
        const turn scope{*this};
        return idle();
      },
      [this](activity_atom, const closure_ptr& only, std::int64_t limit_ns) {
        const turn scope{*this};
        take_submitted();
        return tell_activity(only, std::clamp<duration>(duration{limit_ns}, duration{1}, inquiry_limit_max));
      },
      [this](waits_atom) { return wire<std::vector<awaited_closure>>{tell_awaited()}; },
      [this](errors_atom) { return wire<std::vector<status>>{last_errors_}; },
  };
}

// --- taking closures in ---------------------------------------------------------------------------------------------

/// Joins that come later wait for what callers have scheduled until now.
void coordinator_state::take_submitted() {
  coming_ += submitted_->drain(drain_buffer_);
  const auto count = drain_buffer_.size();
  if (count == 0) return;
  open_ += count;
  arrivals_.push_back({.closures = std::move(drain_buffer_), .stretch = join_line_.enter(count)});
}

/// To take one in costs much less than to end one; and what is taken in together leaves in one message to each worker.
void coordinator_state::take_in() {
  constexpr std::size_t share = 8;
  if (arrivals_.empty()) return;
  const auto now = clock_.now();
  for (auto left = share * options_.turn_closures_max; !arrivals_.empty(); arrivals_.pop_front()) {
    auto& [closures, taken_in, stretch] = arrivals_.front();
    for (; taken_in < closures.size(); ++taken_in) {
      if (left-- == 0) return;
      auto scheduled = std::move(closures[taken_in]);
      if (scheduled->is_for_any_worker_at_once()) coming_ -= std::min<std::size_t>(coming_, 1);
      scheduled->stretch = stretch;
      accept(std::move(scheduled), now);
    }
    drain_buffer_ = std::move(closures);  // its memory is used again
  }
  coming_ = 0;
}

void coordinator_state::accept(closure_ptr scheduled, time_point now) {
  if (scheduled->ended()) return end(*scheduled, scheduled->end_status());
  scheduled->at = closure::stage::waiting;
  if (scheduled->options.worker >= options_.workers)
    return end(*scheduled,
               {status_code::invalid_argument, fmt::format("{} is for worker {} of {}", describe(*scheduled),
                                                           scheduled->options.worker, options_.workers)});
  set_deadline(*scheduled, now);
  if (inputs_ready(scheduled)) enqueue(std::move(scheduled), false);
}

bool coordinator_state::inputs_ready(const closure_ptr& scheduled) {
  for (const auto& input : scheduled->inputs) {
    if (!input.producer) continue;
    if (!input.producer->ended()) {
      input.producer->dependents.push_back(scheduled);
      ++scheduled->missing_inputs;
    } else if (!input.producer->end_status().ok()) {
      pass_on(*input.producer, {scheduled});
      return false;
    }
  }
  return scheduled->missing_inputs == 0;
}

/// `first`: it was sent already, and waits no longer than what it came back from.
void coordinator_state::enqueue(closure_ptr ready, bool first) {
  assert(turns_ != 0);
  ready->at = closure::stage::queued;
  const auto put_into = [&](std::deque<closure_ptr>& queue) {
    first ? queue.push_front(std::move(ready)) : queue.push_back(std::move(ready));
  };
  if (ready->options.worker >= 0) {
    auto& worker = roster_.at(ready->options.worker);
    put_into(worker.tagged);
    return touch(worker);
  }
  if (is_suspect(*ready)) return put_into(suspects_);
  put_into(queued_[static_cast<std::size_t>(std::clamp(ready->options.priority, 0, schedule_options::priorities - 1))]);
  ++queued_count_;
}

void coordinator_state::set_deadline(closure& scheduled, time_point now) {
  scheduled.deadline = later(now, scheduled.options.limit);
  if (scheduled.options.limit <= options_.exact_limit_max) {
    scheduled.timer = clock_
                          .at(scheduled.deadline,
                              [this, &scheduled] {
                                const turn scope{*this};
                                expire(scheduled);
                              })
                          .number;
  } else {
    calendar_->enter(scheduled);
    watch_calendar();
  }
}

/// A closure that has ended must cost nothing until its limit, which may be far.
void coordinator_state::forget_deadline(closure& ended) {
  if (ended.timer != 0) clock_.cancel({ended.deadline, ended.timer});
  deadline_calendar::cross_out(ended);
}

status coordinator_state::limit_is_over(const closure& late) const {
  std::string where = "it was lost with its worker";
  if (late.at == closure::stage::waiting) where = "it waited for other closures, whose values it takes";
  if (late.at == closure::stage::queued) where = "it was in the queue";
  if (const auto* held = in_flight(late)) where = fmt::format("it was on /job:worker/task:{}", held->worker);
  return {status_code::deadline_exceeded, fmt::format("{} did not end within its limit of {} ms; {}", describe(late),
                                                      in_milliseconds(late.options.limit), where)};
}

void coordinator_state::expire(closure& late) {
  const auto why = limit_is_over(late);
  note_error(late, why);
  abandon(late, why);
}

/// Has a timer for the calendar's next page.
void coordinator_state::watch_calendar() {
  const auto next = calendar_->next();
  if (calendar_is_due_ || next == never || (calendar_timer_.number != 0 && calendar_timer_.when <= next)) return;
  clock_.cancel(calendar_timer_);
  calendar_timer_ = clock_.at(next, [this] {
    const turn scope{*this};
    calendar_timer_ = {};
    calendar_is_due_ = true;
  });
}

/// What stands on pages of the calendar that are over has passed its limit.
void coordinator_state::expire_late() {
  if (!calendar_is_due_) return;
  status first;
  std::uint64_t count = 0;
  for (; turn_left_ != 0; --turn_left_) {
    auto* const late = calendar_->take_late(clock_.now());
    if (late == nullptr) {
      calendar_is_due_ = false;
      watch_calendar();
      break;
    }
    auto why = limit_is_over(*late);
    if (is_raised(*late, why)) {
      if (count++ == 0) first = why;
      keep_error(why);
    }
    if (const auto* held = in_flight(*late)) {
      auto& worker = roster_.at(held->worker);
      if (worker.expired.empty()) late_workers_.push_back(&worker);
      worker.expired.push_back(late->id);
    }
    end(*late, std::move(why));
  }
  if (count != 0) announce_errors(first, count);
}

/// Of what has passed its limit, when that is known of all: each worker in one message, since closures that were
/// scheduled one after the other are on many.
void coordinator_state::tell_late_workers() {
  for (; !calendar_is_due_ && !late_workers_.empty() && turn_left_ != 0; late_workers_.pop_front()) {
    auto& worker = *late_workers_.front();
    auto expired = std::exchange(worker.expired, {});
    if (expired.empty()) continue;  // it was lost
    turn_left_ -= std::min(turn_left_, expired.size());
    send_cancel(worker, std::move(expired), {}, {status_code::deadline_exceeded, "it did not end within its limit"});
  }
}

/// Nullptr: no worker that can be told runs it.
const in_flight_table::entry* coordinator_state::in_flight(const closure& which) const {
  const auto* const held = which.at == closure::stage::in_flight ? in_flight_.find(which.id) : nullptr;
  return held != nullptr && held->worker != in_flight_table::adrift ? held : nullptr;
}

/// Ends the closure's remote value now. A worker that runs it is told, and keeps its place until it has answered (C-2).
void coordinator_state::abandon(closure& unwanted, status why) {
  if (unwanted.ended()) return;
  if (unwanted.at == closure::stage::submitted) {
    unwanted.finish(std::move(why));
    return;
  }
  if (const auto* held = in_flight(unwanted)) send_cancel(roster_.at(held->worker), {unwanted.id}, {}, why);
  end(unwanted, std::move(why));
}

/// Answers who has cancelled it when no worker runs it any more, nor may do so beyond the chief's reach.
caf::result<caf::ok_atom> coordinator_state::when_over(const closure& cancelled) {
  const auto* const held = in_flight_.find(cancelled.id);
  if (held == nullptr || held->what.get() != &cancelled || self_->current_sender() == nullptr) return caf::ok_atom_v;
  return overs_.emplace(cancelled.id, self_->make_response_promise<over_promise>())->second;
}

// --- what comes back ------------------------------------------------------------------------------------------------

worker_entry* coordinator_state::admitted_in(session_id session) {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second->at == worker_entry::admission::admitted ? found->second : nullptr;
}

/// Whether the message that is handled now does.
bool coordinator_state::comes_from(const worker_entry& worker) const {
  return self_->current_sender() != nullptr && worker.handle.address() == self_->current_sender()->address();
}

void coordinator_state::take_outcomes(worker_entry& worker, run_outcomes batch) {
  if (!batch.session_ended.ok()) return readmit(worker, batch.session_ended);
  std::uint32_t ended = 0;
  for (auto& outcome : batch.outcomes) {
    const auto* held = in_flight_.find(outcome.id);
    if (held == nullptr || held->worker != worker.index) continue;
    ++ended;
    take_outcome(worker, outcome);
  }
  if (ended != 0) roster_.ended(worker, ended, clock_.now());
  if (!batch.by_desk) roster_.waits(worker, batch.waiting);
  touch(worker);
}

void coordinator_state::take_outcome(worker_entry& worker, closure_outcome& outcome) {
  const auto what = take_back(outcome.id);
  if (what->ended()) return;
  if (outcome.ended.ok()) return end(*what, {}, std::move(outcome.result));
  if (cancelling_ && outcome.ended.code() == status_code::cancelled) return end(*what, std::move(outcome.ended));
  auto why = outcome.ended.wrap(fmt::format("{} on /job:worker/task:{}", describe(*what), worker.index));
  note_error(*what, why);
  end(*what, std::move(why));
}

/// No worker runs the closure any more.
coordinator_state::closure_ptr coordinator_state::take_back(closure_id id) {
  auto what = in_flight_.remove(id);
  what->recall_from = {};
  if (!awaited_.empty()) awaited_.erase(id);
  if (!overs_.empty()) tell_over(id);
  if (what->ended())
    join_line_.leave(what->stretch);
  else
    what->at = closure::stage::waiting;
  return what;
}

void coordinator_state::tell_over(closure_id id) {
  const auto [first, last] = overs_.equal_range(id);
  for (auto each = first; each != last; ++each) each->second.deliver(caf::ok_atom_v);
  overs_.erase(first, last);
}

void coordinator_state::end(closure& what, status ended, value result) {
  assert(turns_ != 0);
  --open_;
  forget_deadline(what);
  const auto runs = what.at == closure::stage::in_flight;
  if (what.at == closure::stage::queued) ++ended_in_queues_;
  what.finish(std::move(ended), std::move(result));
  ++ended_;
  if (!runs) join_line_.leave(what.stretch);
  if (!what.dependents.empty()) pass_on(what, std::exchange(what.dependents, {}));
}

void coordinator_state::release_ended() {
  if (ended_ != 0) submitted_->release(std::exchange(ended_, 0));
}

/// The closure has ended, and these are to hear of it.
void coordinator_state::pass_on(const closure& producer, std::vector<closure_ptr> dependents) {
  passing_.push_back({producer.end_status(), producer.failed_by_input, std::move(dependents)});
}

/// Closures that wait for one that has ended are ready, or they fail, and then those that wait for them do. Who fails
/// by several inputs fails by the one that ended first.
void coordinator_state::pass_on_ends() {
  status first;
  std::uint64_t failed = 0;
  for (; !passing_.empty() && turn_left_ != 0; --turn_left_) {
    // What is appended meanwhile leaves it where it is.
    auto& from = passing_.front();
    const auto consumer = std::move(from.dependents[from.told++]);
    if (consumer->ended()) {
      // Cancelled, or another input has failed.
    } else if (from.ended.ok()) {
      if (--consumer->missing_inputs == 0) enqueue(consumer, false);
    } else {
      fail_by_input(*consumer, from);
      if (is_raised(*consumer, consumer->end_status()) && failed++ == 0) first = consumer->end_status();
    }
    if (from.told == from.dependents.size()) passing_.pop_front();
  }
  if (failed != 0) announce_errors(first, failed);
}

void coordinator_state::fail_by_input(closure& consumer, const passing& from) {
  auto why =
      from.failed_by_input ? from.ended : from.ended.wrap(fmt::format("an input of {} failed", describe(consumer)));
  if (is_raised(consumer, why)) keep_error(why);
  consumer.failed_by_input = true;
  end(consumer, std::move(why));
}

void coordinator_state::publish(event what) {
  if (events_) self_->send(events_, event_atom_v, wire<event>{std::move(what)});
}

coordinator_actor::behavior_type coordinator(coordinator_state::pointer self, std::shared_ptr<submission_queue> queue,
                                             coordinator_options options, event_bus_actor events) {
  return self->state.make_behavior(std::move(queue), options, std::move(events));
}

}  // namespace troupe
