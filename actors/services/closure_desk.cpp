#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/services/closure_desk.hpp>

#include <caf/actor_cast.hpp>
#include <fmt/format.h>

namespace troupe {

namespace {

/// How long the tensors of a submission may be under way.
constexpr duration arrival_limit = std::chrono::minutes{10};

wire<closure_outcome> outcome_of(const std::pair<caf::actor_addr, std::uint64_t>& submitted, const status& why) {
  return {{.id = submitted.second, .ended = why, .result = {}}};
}

std::shared_ptr<closure> make_closure(closure_submission what) {
  const schedule_options options{.limit = duration{what.limit_ns},
                                 .priority = what.priority,
                                 .worker = what.worker,
                                 .queue_limit = duration{what.queue_limit_ns}};
  options.check();
  std::vector<closure_input> inputs;
  inputs.reserve(what.inputs.size());
  for (auto& each : what.inputs) {
    inputs.push_back({.producer = std::make_shared<closure>(function_id{}, value{}, std::vector<closure_input>{},
                                                            schedule_options{})});
    inputs.back().producer->finish({}, std::move(each));
  }
  auto made =
      std::make_shared<closure>(std::move(what.function), std::move(what.arguments), std::move(inputs), options);
  made->raises_errors = false;
  return made;
}

}  // namespace

closure_desk_state::~closure_desk_state() {
  const status over{status_code::failed_precondition, "the cluster has ended"};
  for (auto& [from, each] : open_) each.promise.deliver(outcome_of(from, over));
}

closure_desk_actor::behavior_type closure_desk_state::make_behavior(std::shared_ptr<submission_queue> queue,
                                                                    coordinator_actor coordinator) {
  tolerate_stray_messages(self_);
  queue_ = std::move(queue);
  coordinator_ = std::move(coordinator);
  self_->set_down_handler([this](const caf::down_msg& down) {
    lose(down.source, {status_code::cancelled, "the member that has scheduled it is lost"});
  });
  return {
      [this](submit_atom, std::uint64_t number, wire<closure_submission>& message) { return take(number, message); },
      [this](cancel_atom, std::uint64_t number) {
        return cancel({caf::actor_cast<caf::actor_addr>(self_->current_sender()), number});
      },
      [this](activity_atom, std::uint64_t number, std::int64_t limit_ns) {
        return tell_activity({caf::actor_cast<caf::actor_addr>(self_->current_sender()), number}, limit_ns);
      },
  };
}

caf::result<wire<closure_outcome>> closure_desk_state::take(std::uint64_t number, wire<closure_submission>& message) {
  const key from{caf::actor_cast<caf::actor_addr>(self_->current_sender()), number};
  // Before the promise, which takes the sender away.
  if (open_.contains(from))
    return make_error(status{status_code::invalid_argument, fmt::format("closure {} was submitted before", number)});
  auto promise = self_->make_response_promise<outcome_promise>();
  open_.emplace(from, submission{.promise = promise});
  if (owners_.insert(from.first).second) self_->monitor(from.first);
  when_local(self_, message, arrival_limit, [this, from](wire<closure_submission>& whole, const status& problem) {
    // Given up meanwhile?
    if (!open_.contains(from)) return;
    try {
      if (!problem.ok()) throw_status(problem);
      schedule(from, whole.take());
    } catch (...) {
      give_up(from, status_of(std::current_exception()));
    }
  });
  return promise;
}

/// @throws what is wrong with it; resource_exhausted_error when too many wait for room.
void closure_desk_state::schedule(const key& from, closure_submission what) {
  auto scheduled = make_closure(std::move(what));
  if (waiting_.size() == waiting_max)
    throw resource_exhausted_error{
        fmt::format("the chief's queue of closures is full, and {} of other members wait for room there already, their "
                    "limit (closure_desk_state::waiting_max); schedule slower, add workers, or raise queue_capacity",
                    waiting_max)};
  auto& made = open_.at(from);
  made.scheduled = std::move(scheduled);
  made.place = ++last_place_;
  waiting_.emplace(made.place, from);
  push_waiting();
  // Most have their place in the queue now.
  const auto waits = open_.find(from);
  if (waits == open_.end() || waits->second.place == 0) return;
  const auto limit = waits->second.scheduled->options.queue_limit;
  waits->second.queue_limit = clock_.after(limit, [this, from, limit] { give_up(from, queue_->had_no_room(limit)); });
}

void closure_desk_state::push_waiting() {
  while (!waiting_.empty()) {
    const auto first = waiting_.begin()->second;
    try {
      if (!push(first)) return;
    } catch (...) {
      give_up(first, status_of(std::current_exception()));
    }
  }
}

/// False: there is no room yet. @throws why the coordinator takes no more.
bool closure_desk_state::push(const key& from) {
  auto& what = open_.at(from);
  auto scheduled = what.scheduled;
  const auto tried = queue_->try_push(scheduled);
  if (tried.full) {
    if (!std::exchange(room_awaited_, true))
      tried.full->on_set(make_notifier(self_, [this] {
        room_awaited_ = false;
        push_waiting();
      }));
    return false;
  }
  stop_waiting(what);
  if (tried.wakes) self_->send(coordinator_, submit_atom_v);
  what.scheduled->on_end(make_notifier(self_, [this, from] { answer(from); }));
  return true;
}

void closure_desk_state::stop_waiting(submission& what) {
  clock_.cancel(what.queue_limit);
  waiting_.erase(std::exchange(what.place, 0));
}

void closure_desk_state::answer(const key& from) {
  auto found = open_.extract(from);
  if (found.empty()) return;
  const auto& scheduled = *found.mapped().scheduled;
  if (!scheduled.end_status().ok()) keep_until_over(from, found.mapped().scheduled);
  wire<closure_outcome> outcome{{.id = from.second, .ended = scheduled.end_status(), .result = scheduled.result()}};
  try {
    // What can't be encoded would be lost on its way.
    if (is_encoded_between(self_->node(), from.first.node())) outcome.seal();
  } catch (...) {
    outcome = outcome_of(
        from,
        status_of(std::current_exception()).wrap("the result of " + to_string(scheduled.function) + " can't be sent"));
  }
  found.mapped().promise.deliver(std::move(outcome));
}

caf::result<caf::ok_atom> closure_desk_state::cancel(const key& from) {
  give_up(from, {status_code::cancelled, "cancelled by the owner of its remote value"});
  const auto found = ended_.find(from);
  if (found == ended_.end()) return caf::ok_atom_v;
  return self_->delegate(coordinator_, cancel_atom_v, found->second);
}

void closure_desk_state::give_up(const key& from, const status& why) {
  if (auto scheduled = take_out(from, why)) keep_until_over(from, std::move(scheduled));
}

/// Nobody wants it any more, and it may still run.
void closure_desk_state::keep_until_over(const key& from, std::shared_ptr<closure> what) {
  const auto forget = [this, from] { ended_.erase(from); };
  const auto& kept = ended_.emplace(from, std::move(what)).first->second;
  requests_.ask(
      coordinator_, over_limit, "asking when a closure is over", [forget](caf::ok_atom) { forget(); },
      [forget](const status&) { forget(); }, cancel_atom_v, kept);
}

/// Answers the submission. Returns what the coordinator has of it.
std::shared_ptr<closure> closure_desk_state::take_out(const key& from, const status& why) {
  auto found = open_.extract(from);
  if (found.empty()) return nullptr;
  auto& out = found.mapped();
  const auto waited = out.place != 0;
  if (waited) stop_waiting(out);
  out.promise.deliver(outcome_of(from, why));
  return waited ? nullptr : std::move(out.scheduled);
}

caf::result<std::string> closure_desk_state::tell_activity(const key& from, std::int64_t limit_ns) {
  const auto found = open_.find(from);
  if (found == open_.end()) return std::string{"it has ended now"};
  const auto& asked = found->second;
  if (!asked.scheduled) return std::string{"its arguments are on their way to the chief"};
  if (asked.place != 0) return std::string{"it waits for room in the chief's queue, which is full"};
  return self_->delegate(coordinator_, activity_atom_v, asked.scheduled, limit_ns);
}

void closure_desk_state::lose(const caf::actor_addr& owner, const status& why) {
  owners_.erase(owner);
  for (auto each = open_.lower_bound({owner, 0}); each != open_.end() && each->first.first == owner;) {
    const auto from = each->first;
    ++each;
    give_up(from, why);
  }
}

closure_desk_actor::behavior_type closure_desk(closure_desk_state::pointer self,
                                               std::shared_ptr<submission_queue> queue, coordinator_actor coordinator) {
  return self->state.make_behavior(std::move(queue), std::move(coordinator));
}

}  // namespace troupe
