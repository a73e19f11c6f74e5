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
  for (auto& level : queued_)
    for (auto& waiting : level) end(waiting, stopped, {});
  for (const auto& worker : roster_.all()) {
    for (auto& waiting : worker->tagged) end(waiting, stopped, {});
    for (const auto id : in_flight_.held_by(worker->index)) end(in_flight_.remove(id), stopped, {});
  }
  for (auto& promise : joins_) promise.deliver(make_error(stopped));
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
  roster_ = worker_roster{options_.windows};
  outcomes_.emplace(self_, options_.inbox);
  self_->set_down_handler([this](caf::down_msg& down) {
    const turn scope{*this};
    if (auto* worker = roster_.find(down.source))
      lose(*worker, status_of(down.reason, fmt::format("the link to /job:worker/task:{}", worker->index)));
  });
  return {
      [this](outcome_atom, session_id session, wire<run_outcomes>& message) {
        if (admitted_in(session) == nullptr) return;
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
        abandon(unwanted, {status_code::cancelled, "cancelled by the owner of its remote value"});
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
        for (const auto& worker : roster_.all())
          if (worker->at == worker_entry::admission::admitted) send_cancel(*worker, {}, {id}, {});
      },
      [this](up_atom, const worker_actor& handle, wire<identity>& who) {
        const turn scope{*this};
        if (who.open().ok()) worker_up(handle, *who);
      },
      [this](down_atom, wire<member_record>& message) {
        const turn scope{*this};
        if (!message.open().ok() || message->task.job != "worker") return;
        lose(roster_.entry(message->task.index), message->why);
      },
      [this](drained_atom) {
        const turn scope{*this};
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
  if (scheduled->ended()) return end(scheduled, scheduled->end_status(), {});
  set_deadline(scheduled);
  if (inputs_ready(scheduled)) enqueue(scheduled, false);
}

bool coordinator_state::inputs_ready(const closure_ptr& scheduled) {
  for (const auto& input : scheduled->inputs) {
    if (!input.producer) continue;
    if (!input.producer->ended()) {
      input.producer->dependents.push_back(scheduled);
      ++scheduled->missing_inputs;
    } else if (!input.producer->end_status().ok()) {
      input.producer->dependents.push_back(scheduled);
      end_dependents(input.producer);
      return false;
    }
  }
  return scheduled->missing_inputs == 0;
}

void coordinator_state::enqueue(const closure_ptr& ready, bool first) {
  assert(turns_ != 0);
  ready->at = closure::stage::queued;
  if (ready->options.worker >= 0) {
    auto& worker = roster_.entry(ready->options.worker);
    worker.tagged.push_back(ready);
    return touch(worker);
  }
  auto& level =
      queued_[static_cast<std::size_t>(std::clamp(ready->options.priority, 0, schedule_options::priorities - 1))];
  first ? level.push_front(ready) : level.push_back(ready);
  ++queued_count_;
}

void coordinator_state::set_deadline(const closure_ptr& scheduled) {
  scheduled->deadline = later(clock_.now(), scheduled->options.limit);
  if (scheduled->options.limit <= options_.exact_limit_max) {
    clock_.at(scheduled->deadline, [this, late = std::weak_ptr{scheduled}] {
      const turn scope{*this};
      if (const auto closure = late.lock()) expire(closure);
    });
  } else if (!sweeping_) {
    sweeping_ = true;
    clock_.after(options_.sweep_interval, [this] { sweep(); });
  }
}

void coordinator_state::expire(const closure_ptr& late) {
  if (late->ended()) return;
  const status why{status_code::deadline_exceeded, fmt::format("{} did not end within its limit of {} ms",
                                                               describe(*late), in_milliseconds(late->options.limit))};
  note_error(why);
  abandon(late, why);
}

void coordinator_state::sweep() {
  const turn scope{*this};
  std::vector<closure_ptr> late;
  const auto now = clock_.now();
  const auto look = [&](const closure_ptr& candidate) {
    if (candidate->deadline <= now && !candidate->ended()) late.push_back(candidate);
  };
  for (const auto& level : queued_) std::for_each(level.begin(), level.end(), look);
  for (const auto& worker : roster_.all()) {
    std::for_each(worker->tagged.begin(), worker->tagged.end(), look);
    for (const auto id : in_flight_.held_by(worker->index)) look(in_flight_.find(id)->what);
  }
  for (const auto& closure : late) expire(closure);
  sweeping_ = open_ != 0;
  if (sweeping_) clock_.after(options_.sweep_interval, [this] { sweep(); });
}

/// Ends the closure's remote value now. A worker that runs it is told, and keeps its place until it has answered (C-2).
void coordinator_state::abandon(const closure_ptr& unwanted, status why) {
  if (unwanted->ended()) return;
  const auto id = unwanted->at == closure::stage::in_flight ? unwanted->id : 0;
  const auto* held = id == 0 ? nullptr : in_flight_.find(id);
  if (held != nullptr) send_cancel(roster_.entry(held->worker), {id}, {}, why);
  end(unwanted, std::move(why), {});
}

// --- what comes back ------------------------------------------------------------------------------------------------

worker_entry* coordinator_state::admitted_in(session_id session) {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second->at == worker_entry::admission::admitted ? found->second : nullptr;
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
  const auto what = in_flight_.remove(outcome.id);
  if (what->ended()) return;
  if (outcome.ended.ok()) return end(what, {}, std::move(outcome.result));
  if (cancelling_ && outcome.ended.code() == status_code::cancelled) return end(what, std::move(outcome.ended), {});
  auto why = outcome.ended.wrap(fmt::format("{} on /job:worker/task:{}", describe(*what), worker.index));
  note_error(why);
  end(what, std::move(why), {});
}

void coordinator_state::end(const closure_ptr& what, status ended, value result) {
  assert(turns_ != 0);
  --open_;
  what->finish(std::move(ended), std::move(result));
  ++ended_;
  if (!what->dependents.empty()) end_dependents(what);
}

void coordinator_state::release_ended() {
  if (ended_ != 0) submitted_->release(std::exchange(ended_, 0));
}

void coordinator_state::end_dependents(const closure_ptr& producer) {
  const auto dependents = std::exchange(producer->dependents, {});
  for (const auto& consumer : dependents) {
    if (consumer->ended()) continue;
    if (producer->end_status().ok()) {
      if (--consumer->missing_inputs == 0) enqueue(consumer, false);
      continue;
    }
    const auto& failed = producer->end_status();
    auto why =
        producer->failed_by_input ? failed : failed.wrap(fmt::format("an input of {} failed", describe(*consumer)));
    consumer->failed_by_input = true;
    if (failed.code() != status_code::cancelled) note_error(why);
    end(consumer, std::move(why), {});
  }
}

// --- errors and joins -----------------------------------------------------------------------------------------------

caf::result<caf::ok_atom> coordinator_state::drained() {
  auto promise = self_->make_response_promise<drained_promise>();
  joins_.push_back(promise);
  if (!errors_.empty()) cancel_generation();
  return promise;
}

caf::result<bool> coordinator_state::idle() {
  auto promise = self_->make_response_promise<idle_promise>();
  idle_questions_.push_back(promise);
  if (!errors_.empty()) cancel_generation();
  return promise;
}

void coordinator_state::note_error(const status& why) {
  assert(turns_ != 0);
  constexpr std::size_t errors_max = 1000;
  if (errors_.size() < errors_max) errors_.push_back(why);
  submitted_->error_pending.store(true, std::memory_order_release);
  publish({.kind = event_kind::closure_failed, .count = 1, .why = why});
  if ((!joins_.empty() || !idle_questions_.empty()) && !cancelling_) cancel_generation();
}

/// Somebody waits and there is an error: nothing starts any more, and when nothing runs any more the error is raised.
void coordinator_state::cancel_generation() {
  for (auto& promise : std::exchange(joins_, {})) raises_.push_back(promise);
  for (auto& promise : std::exchange(idle_questions_, {})) raises_.push_back(promise);
  if (cancelling_) return;
  cancelling_ = true;
  const status why{status_code::cancelled,
                   "cancelled because another closure failed; schedule it again if it is needed"};
  for (const auto& worker : roster_.all())
    if (auto held = in_flight_.held_by(worker->index); !held.empty()) send_cancel(*worker, std::move(held), {}, why);
}

/// Ends a generation that is being cancelled when nothing of it runs any more (C-2). False: there was nothing to end.
bool coordinator_state::raise_errors() {
  if (!cancelling_ || in_flight_.count() != 0) return false;
  const auto first = errors_.front();
  const auto why =
      first.wrap(status_code::cancelled, "cancelled because another closure failed; schedule it again if it is needed");
  const auto cancelled_count = open_;
  for (auto& level : queued_)
    for (const auto& waiting : std::exchange(level, {}))
      if (!waiting->ended()) end(waiting, why, {});
  queued_count_ = 0;
  for (const auto& worker : roster_.all())
    for (const auto& waiting : std::exchange(worker->tagged, {}))
      if (!waiting->ended()) end(waiting, why, {});
  last_errors_ = std::exchange(errors_, {});
  cancelling_ = false;
  submitted_->error_pending.store(false, std::memory_order_release);
  publish({.kind = event_kind::generation_cancelled, .count = cancelled_count, .why = first});
  release_ended();  // whoever hears of the error finds room
  for (auto& promise : std::exchange(raises_, {})) promise.deliver(make_error(first));
  return true;
}

void coordinator_state::answer_joins() {
  // The error comes first.
  if (cancelling_) return;
  for (auto& promise : std::exchange(idle_questions_, {})) promise.deliver(finished());
  if (!finished()) return;
  for (auto& promise : std::exchange(joins_, {})) promise.deliver(caf::ok_atom_v);
}

void coordinator_state::publish(event what) {
  if (events_) self_->send(events_, event_atom_v, wire<event>{std::move(what)});
}

coordinator_actor::behavior_type coordinator(coordinator_state::pointer self, std::shared_ptr<submission_queue> queue,
                                             coordinator_options options, event_bus_actor events) {
  return self->state.make_behavior(std::move(queue), options, std::move(events));
}

}  // namespace troupe
