#include <troupe/actors/closures/coordinator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace troupe {

namespace {

std::string describe(const closure& which) { return fmt::format("closure {}", to_string(which.function)); }

const status stopped{status_code::cancelled, "the coordinator has stopped"};

}  // namespace

coordinator_state::~coordinator_state() {
  ++turns_;
  // Every promise and every remote value is answered on this way out too (C-1).
  submitted_->close(stopped);
  const auto end_all = [this](const auto& all) {
    for (const auto& each : all)
      if (!each->ended()) end(*each, stopped);
  };
  for (const auto& level : queued_) end_all(level);
  end_all(stranded_);
  for (const auto& worker : roster_.all()) {
    end_all(worker->tagged);
    in_flight_.set_adrift(worker->index);
  }
  for (const auto id : in_flight_.held_by(in_flight_table::adrift)) end_all(std::array{take_back(id)});
  for (auto& join : joins_) join.promise.deliver(make_error(stopped));
  for (auto& promise : idle_questions_) promise.deliver(make_error(stopped));
  for (auto& promise : raises_) promise.deliver(make_error(stopped));
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
  do {
    take_submitted();
    send_out();
  } while (raise_errors());
  release_ended();
  answer_joins();
}

coordinator_actor::behavior_type coordinator_state::make_behavior(std::shared_ptr<submission_queue> queue,
                                                                  coordinator_options options, event_bus_actor events) {
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
      [this](outcome_atom, session_id session, wire<run_outcomes>& message) {
        const auto* sender = admitted_in(session);
        if (sender == nullptr || !comes_from(*sender)) return;
        outcomes_->take(session, message, [this, session](wire<run_outcomes>& arrived, const status& problem) {
          const turn scope{*this};
          auto* worker = admitted_in(session);
          if (worker == nullptr) return;
          if (problem.ok()) return take_outcomes(*worker, arrived.take());
          // Which closures the message was about is unknown, so the worker's whole session is void.
          readmit(*worker, problem);
        });
      },
      [this](submit_atom) { const turn scope{*this}; },
      [this](cancel_atom, const closure_ptr& unwanted) {
        const turn scope{*this};
        take_submitted();  // it may be among them
        abandon(*unwanted, {status_code::cancelled, "cancelled by the owner of its remote value"});
      },
      [this](resource_atom, wire<closure_order>& message) -> caf::result<caf::ok_atom> {
        const turn scope{*this};
        if (const auto problem = message.open(); !problem.ok()) return make_error(problem);
        const auto& order = *message;
        resources_.insert_or_assign(order.builds, order);
        for (const auto& worker : roster_.all()) {
          if (worker->at != worker_entry::admission::admitted) continue;
          worker->outgoing.push_back(order);
          touch(*worker);
        }
        return caf::ok_atom_v;
      },
      [this](release_atom, resource_id id) {
        const turn scope{*this};
        resources_.erase(id);
        unsendable_.erase(id);
        for (const auto& worker : roster_.all())
          if (worker->at == worker_entry::admission::admitted) send_cancel(*worker, {}, {id}, {});
      },
      [this](up_atom, const member_actor& door, const worker_actor& handle, wire<identity>& who) {
        const turn scope{*this};
        if (handle && who.open().ok()) worker_up(door, handle, *who);
      },
      [this](up_atom, const parameter_server_actor& handle, wire<identity>& who) {
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
      [this](drained_atom) {
        const turn scope{*this};
        take_submitted();  // what was scheduled before
        return drained();
      },
      [this](idle_atom) {
        const turn scope{*this};
        return idle();
      },
      [this](errors_atom) { return wire<std::vector<status>>{last_errors_}; },
  };
}

// --- taking closures in ---------------------------------------------------------------------------------------------

void coordinator_state::take_submitted() {
  submitted_->drain(drain_buffer_);
  for (const auto& scheduled : drain_buffer_) accept(scheduled);
  drain_buffer_.clear();
}

void coordinator_state::accept(const closure_ptr& scheduled) {
  ++open_;
  scheduled->stretch = join_line_.enter();
  if (scheduled->ended()) return end(*scheduled, scheduled->end_status());
  if (scheduled->options.worker >= options_.workers)
    return end(*scheduled,
               {status_code::invalid_argument, fmt::format("{} is for worker {} of {}", describe(*scheduled),
                                                           scheduled->options.worker, options_.workers)});
  set_deadline(*scheduled);
  if (inputs_ready(scheduled)) enqueue(scheduled, false);
}

bool coordinator_state::inputs_ready(const closure_ptr& scheduled) {
  for (const auto& input : scheduled->inputs) {
    if (!input.producer) continue;
    if (!input.producer->ended()) {
      input.producer->dependents.push_back(scheduled);
      ++scheduled->missing_inputs;
    } else if (!input.producer->end_status().ok()) {
      // The end of the closure lets its inputs go.
      const auto failed = input.producer;
      failed->dependents.push_back(scheduled);
      end_dependents(*failed);
      return false;
    }
  }
  return scheduled->missing_inputs == 0;
}

/// `first`: it was sent already, and waits no longer than what it came back from.
void coordinator_state::enqueue(const closure_ptr& ready, bool first) {
  assert(turns_ != 0);
  ready->at = closure::stage::queued;
  const auto put_into = [&](std::deque<closure_ptr>& queue) {
    first ? queue.push_front(ready) : queue.push_back(ready);
  };
  if (ready->options.worker >= 0) {
    auto& worker = roster_.at(ready->options.worker);
    put_into(worker.tagged);
    return touch(worker);
  }
  put_into(queued_[static_cast<std::size_t>(std::clamp(ready->options.priority, 0, schedule_options::priorities - 1))]);
  ++queued_count_;
}

void coordinator_state::set_deadline(closure& scheduled) {
  scheduled.deadline = later(clock_.now(), scheduled.options.limit);
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

void coordinator_state::expire(closure& late) {
  if (late.ended()) return;
  const status why{status_code::deadline_exceeded, fmt::format("{} did not end within its limit of {} ms",
                                                               describe(late), in_milliseconds(late.options.limit))};
  note_error(why);
  abandon(late, why);
}

/// Has a timer for the calendar's next page.
void coordinator_state::watch_calendar() {
  const auto next = calendar_->next();
  if (next == never || (calendar_timer_.number != 0 && calendar_timer_.when <= next)) return;
  clock_.cancel(calendar_timer_);
  calendar_timer_ = clock_.at(next, [this] {
    const turn scope{*this};
    calendar_timer_ = {};
    while (auto* late = calendar_->take_late(clock_.now())) expire(*late);
    watch_calendar();
  });
}

/// Ends the closure's remote value now. A worker that runs it is told, and keeps its place until it has answered (C-2).
void coordinator_state::abandon(closure& unwanted, status why) {
  if (unwanted.ended()) return;
  const auto id = unwanted.at == closure::stage::in_flight ? unwanted.id : 0;
  const auto* held = id == 0 ? nullptr : in_flight_.find(id);
  if (held != nullptr && held->worker != in_flight_table::adrift) send_cancel(roster_.at(held->worker), {id}, {}, why);
  end(unwanted, std::move(why));
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
  roster_.set_waiting(worker, batch.waiting);
  touch(worker);
}

void coordinator_state::take_outcome(worker_entry& worker, closure_outcome& outcome) {
  const auto what = take_back(outcome.id);
  if (what->ended()) return;
  if (outcome.ended.ok()) return end(*what, {}, std::move(outcome.result));
  if (cancelling_ && outcome.ended.code() == status_code::cancelled) return end(*what, std::move(outcome.ended));
  auto why = outcome.ended.wrap(fmt::format("{} on /job:worker/task:{}", describe(*what), worker.index));
  note_error(why);
  end(*what, std::move(why));
}

/// No worker runs the closure any more.
coordinator_state::closure_ptr coordinator_state::take_back(closure_id id) {
  auto what = in_flight_.remove(id);
  if (what->ended())
    join_line_.leave(what->stretch);
  else
    what->at = closure::stage::queued;
  return what;
}

void coordinator_state::end(closure& what, status ended, value result) {
  end_alone(what, std::move(ended), std::move(result));
  if (!what.dependents.empty()) end_dependents(what);
}

void coordinator_state::end_alone(closure& what, status ended, value result) {
  assert(turns_ != 0);
  --open_;
  forget_deadline(what);
  const auto runs = what.at == closure::stage::in_flight;
  what.finish(std::move(ended), std::move(result));
  ++ended_;
  if (!runs) join_line_.leave(what.stretch);
}

void coordinator_state::release_ended() {
  if (ended_ != 0) submitted_->release(std::exchange(ended_, 0));
}

/// Closures that wait for this one are ready, or they fail, and then those that wait for them do: one after the other,
/// since a chain of them may be as long as the queue.
void coordinator_state::end_dependents(closure& producer) {
  std::deque<closure_ptr> failed;
  pass_on(producer, failed);
  if (failed.empty()) return;
  const auto first = failed.front()->end_status();
  const auto is_error = first.code() != status_code::cancelled;
  std::uint64_t count = 0;
  for (; !failed.empty(); failed.pop_front(), ++count) {
    if (is_error) keep_error(failed.front()->end_status());
    pass_on(*failed.front(), failed);
  }
  if (is_error) announce_errors(first, count);
}

void coordinator_state::pass_on(closure& producer, std::deque<closure_ptr>& failed) {
  const auto& ended = producer.end_status();
  for (auto& consumer : std::exchange(producer.dependents, {})) {
    if (consumer->ended()) continue;
    if (ended.ok()) {
      if (--consumer->missing_inputs == 0) enqueue(consumer, false);
      continue;
    }
    auto why = producer.failed_by_input ? ended : ended.wrap(fmt::format("an input of {} failed", describe(*consumer)));
    consumer->failed_by_input = true;
    end_alone(*consumer, std::move(why), {});
    failed.push_back(std::move(consumer));
  }
}

void coordinator_state::publish(event what) {
  if (events_) self_->send(events_, event_atom_v, wire<event>{std::move(what)});
}

coordinator_actor::behavior_type coordinator(coordinator_state::pointer self, std::shared_ptr<submission_queue> queue,
                                             coordinator_options options, event_bus_actor events) {
  return self->state.make_behavior(std::move(queue), options, std::move(events));
}

}  // namespace troupe
