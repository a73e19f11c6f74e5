#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/services/closure_courier.hpp>
#include <troupe/actors/services/closure_desk.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

std::string describe(const closure& which) { return fmt::format("closure {}", to_string(which.function)); }

/// So much later than its limit a closure's end may be heard of, since the chief knows better why it is late.
constexpr duration answer_grace = std::chrono::seconds{1};

/// What the way to the chief, and a chief that is busy, take beside what the workers there may take. Who asks has a
/// limit of its own (runtime/closures/outstanding.hpp).
constexpr duration activity_grace = std::chrono::seconds{2};

const closure* unfinished_input(const closure& what) {
  for (const auto& input : what.inputs)
    if (input.producer && !input.producer->ended()) return input.producer.get();
  return nullptr;
}

/// Why it can't run: what one of its inputs has failed with, or that it needs what only the chief's workers have.
status problem_of_inputs(const closure& what) {
  for (const auto& input : what.inputs) {
    if (!input.producer)
      return {
          status_code::invalid_argument,
          fmt::format("{} takes a per-worker value, which only the chief's program can schedule with", describe(what))};
    if (const auto& ended = input.producer->end_status(); !ended.ok())
      return ended.wrap(fmt::format("an input of {} failed", describe(what)));
  }
  return {};
}

}  // namespace

closure_courier_state::~closure_courier_state() {
  if (!queue_) return;
  desk_.link().withdraw(known_);
  const status over{status_code::failed_precondition, "the member has ended that has scheduled it"};
  queue_->close(over);
  queue_->drain(arrived_);
  for (const auto& each : arrived_) each->finish(over);
  // The desk hears of this end, too.
  for (const auto& [_, each] : open_) each.what->finish(over);
}

closure_courier_actor::behavior_type closure_courier_state::make_behavior(std::shared_ptr<submission_queue> queue,
                                                                          actor_reference<closure_desk_actor> desk) {
  tolerate_stray_messages(self_);
  queue_ = std::move(queue);
  desk_ = std::move(desk);
  desk_.watch(
      self_, [this](const closure_desk_actor&) { send_waiting(); }, [](const status&) {});
  known_ = desk_.link().once_known(make_notifier(self_, [this] { send_waiting(); }));
  return {
      [this](cancel_atom, const closure_ptr& unwanted) {
        take_submitted();
        cancel(*unwanted, {status_code::cancelled, "cancelled by the owner of its remote value"});
        return when_over(*unwanted);
      },
      [](release_atom, resource_id) {},
      [this](activity_atom, const closure_ptr& which, std::int64_t limit_ns) {
        take_submitted();
        return tell_activity(which.get(), duration{limit_ns});
      },
      [this](submit_atom) { take_submitted(); },
  };
}

void closure_courier_state::take_submitted() {
  queue_->drain(arrived_);
  for (auto& each : std::exchange(arrived_, {})) take(std::move(each));
}

void closure_courier_state::take(closure_ptr scheduled) {
  const auto* const key = scheduled.get();
  scheduled->deadline = later(clock_.now(), scheduled->options.limit);
  scheduled->id = ++last_number_;
  auto& made = open_[key];
  made.what = std::move(scheduled);
  end_by(made, key->deadline);
  send_when_ready(made.what);
}

void closure_courier_state::end_by(delivery& one, time_point deadline) {
  clock_.cancel(one.deadline);
  one.deadline = clock_.at(deadline, [this, key = one.what.get()] { cancel(*key, limit_is_over(*key)); });
}

/// Each input that ends lets it look for the next one.
void closure_courier_state::send_when_ready(const closure_ptr& what) {
  if (const auto found = open_.find(what.get()); found == open_.end()) return;
  const auto* const missing = unfinished_input(*what);
  if (missing == nullptr) {
    open_.at(what.get()).ready = true;
    return send(what);
  }
  for (const auto& input : what->inputs)
    if (input.producer.get() == missing)
      return input.producer->on_end(make_notifier(self_, [this, what] { send_when_ready(what); }));
}

/// The desk is there, again perhaps, or never will be.
void closure_courier_state::send_waiting() {
  std::vector<closure_ptr> waiting;
  for (const auto& [_, each] : open_)
    if (each.ready && !each.sent) waiting.push_back(each.what);
  std::sort(waiting.begin(), waiting.end(), [](const auto& left, const auto& right) { return left->id < right->id; });
  for (const auto& each : waiting) send(each);
}

void closure_courier_state::send(const closure_ptr& what) {
  if (auto problem = problem_of_inputs(*what); !problem.ok()) return end(*what, std::move(problem));
  if (!desk_.is_up()) {
    // Any other reason may pass.
    if (auto why = desk_.why(); why.code() == status_code::not_found)
      end(*what, why.wrap(status_code::failed_precondition, "there is no chief who would have it run"));
    return;
  }
  const auto left = std::max(what->deadline - clock_.now(), duration{1});
  auto& one = open_.at(what.get());
  try {
    auto message = submission_of(*what, left);
    one.sent = true;
    end_by(one, later(what->deadline, answer_grace));
    desk_.request(self_, duration::max(), submit_atom_v, std::uint64_t{what->id}, std::move(message))
        .then([this, what](wire<closure_outcome>& answer) { take_answer(what, answer); },
              [this, what](const status& why) {
                what->may_run_unseen = true;
                end(*what, why.wrap(fmt::format("{} may have run or not", describe(*what))));
              });
  } catch (...) {
    end(*what, status_of(std::current_exception()).wrap(describe(*what) + " could not be sent to the chief"));
  }
}

/// Its tensors have as long as the closure itself.
void closure_courier_state::take_answer(const closure_ptr& what, wire<closure_outcome>& answer) {
  const auto left = std::max(later(what->deadline, answer_grace) - clock_.now(), duration{1});
  when_local(self_, answer, left, [this, what](wire<closure_outcome>& whole, const status& problem) {
    if (!problem.ok()) return end(*what, problem);
    auto outcome = whole.take();
    end(*what, std::move(outcome.ended), std::move(outcome.result));
  });
}

/// @throws what its encoding throws
wire<closure_submission> closure_courier_state::submission_of(const closure& what, duration left) const {
  closure_submission made{.function = what.function,
                          .arguments = what.arguments,
                          .inputs = {},
                          .limit_ns = left.count(),
                          .priority = what.options.priority,
                          .worker = what.options.worker,
                          .queue_limit_ns = what.options.queue_limit.count()};
  for (const auto& input : what.inputs) made.inputs.push_back(input.producer->result());
  wire<closure_submission> message{std::move(made)};
  // What can't be encoded would be lost on its way.
  if (const auto desk = desk_.handle(); !desk || is_encoded_between(self_->node(), desk.node())) message.seal();
  return message;
}

status closure_courier_state::limit_is_over(const closure& late) const {
  const auto text =
      fmt::format("{} did not end within its limit of {} ms", describe(late), in_milliseconds(late.options.limit));
  const auto& one = open_.at(&late);
  if (!one.ready || one.sent) return {status_code::deadline_exceeded, text};
  return desk_.why().wrap(status_code::deadline_exceeded, text + ": the chief is out of reach");
}

/// Without a closure: how many there are.
caf::result<std::string> closure_courier_state::tell_activity(const closure* which, duration limit) {
  if (which == nullptr) return fmt::format("{} closures of this member have not ended", open_.size());
  const auto found = open_.find(which);
  if (found == open_.end()) return std::string{"it has ended now"};
  const auto& one = found->second;
  if (!one.ready) return describe(*which) + " waits for other closures, whose values it takes";
  if (!one.sent)
    return fmt::format("{} waits for the chief, which is out of reach: {}", describe(*which), desk_.why().render());
  auto promise = self_->make_response_promise<caf::typed_response_promise<std::string>>();
  desk_.request(self_, limit + activity_grace, activity_atom_v, std::uint64_t{which->id}, std::int64_t{limit.count()})
      .then([promise](std::string& told) mutable { promise.deliver(std::move(told)); },
            [promise](const status& why) mutable { promise.deliver(make_error(why)); });
  return promise;
}

void closure_courier_state::cancel(const closure& what, const status& why) {
  const auto found = open_.find(&what);
  if (found == open_.end()) return;
  if (found->second.sent)
    desk_.request(self_, closure_desk_state::over_limit, cancel_atom_v, std::uint64_t{what.id})
        .then([](caf::ok_atom) {}, [](const status&) {});
  end(what, why);
}

/// What has ended without its value may still run. The chief knows of all that was sent to it, and of nothing else.
caf::result<caf::ok_atom> closure_courier_state::when_over(const closure& ended) {
  if (ended.end_status().ok() || self_->current_sender() == nullptr) return caf::ok_atom_v;
  const auto what = fmt::format("{} may still run", describe(ended));
  if (ended.may_run_unseen) return make_error(ended.end_status().wrap(status_code::unavailable, what));
  auto promise = self_->make_response_promise<caf::typed_response_promise<caf::ok_atom>>();
  desk_.request(self_, closure_desk_state::over_limit, cancel_atom_v, std::uint64_t{ended.id})
      .then([promise](caf::ok_atom) mutable { promise.deliver(caf::ok_atom_v); },
            [promise, what](const status& why) mutable { promise.deliver(make_error(why.wrap(what))); });
  return promise;
}

void closure_courier_state::end(const closure& what, status ended, value result) {
  auto found = open_.extract(&what);
  if (found.empty()) return;
  clock_.cancel(found.mapped().deadline);
  found.mapped().what->finish(std::move(ended), std::move(result));
  queue_->release(1);
}

closure_courier_actor::behavior_type closure_courier(closure_courier_state::pointer self,
                                                     std::shared_ptr<submission_queue> queue,
                                                     actor_reference<closure_desk_actor> desk) {
  return self->state.make_behavior(std::move(queue), std::move(desk));
}

}  // namespace troupe
