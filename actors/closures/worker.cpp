#include <troupe/actors/closures/worker.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/variables/client.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// Fibers are named by what they run; closures' ids stay far below this bit.
constexpr std::uint64_t resource_fiber = std::uint64_t{1} << 63;

status as_cancelled(const status& why) {
  return why.code() == status_code::cancelled ? why : why.wrap(status_code::cancelled, "cancelled");
}

}  // namespace

worker_actor::behavior_type worker_state::make_behavior(dialer_actor dialer, worker_options options) {
  options_ = std::move(options);
  fibers_ = std::make_unique<fiber_host>(clock_, options_.fibers, this);
  inbox_.emplace(self_, options_.inbox, fibers_.get());
  dialer_ = std::move(dialer);
  variables_ = std::make_unique<variable_client>(self_, clock_, dialer_, options_.variables, fibers_.get());
  fibers_->at_turn_end([this] {
    start_some();
    variables_->flush();
    send_outcomes();
    if (fibers_->active() == 0 && queued_.empty()) lookout_.idle();
  });
  self_->set_down_handler([this](caf::down_msg& down) {
    const fiber_host::turn scope{*fibers_};
    if (variables_->down(down.source, status_of(down.reason, "the link to a server"))) return;
    if (coordinator_ && coordinator_.address() == down.source) end_session(session_over);
  });
  return {
      [this](admit_atom, const outcome_sink& coordinator, wire<session_terms>& terms) -> caf::result<caf::ok_atom> {
        if (const auto problem = terms.open(); !problem.ok()) return make_error(problem);
        begin(coordinator, *terms);
        return caf::ok_atom_v;
      },
      [this](dismiss_atom, session_id session) {
        const fiber_host::turn scope{*fibers_};
        // Zero comes from this process, not from the coordinator, which still counts on the session.
        if (session == 0) return give_up_session(session_over);
        if (session == terms_.session) end_session(session_over);
      },
      [this](run_atom, session_id session, wire<run_orders>& message) {
        if (!in_session(session)) return;
        inbox_->take(session, message, [this, session](wire<run_orders>& arrived, const status& problem) {
          const fiber_host::turn scope{*fibers_};
          if (!in_session(session)) return;
          if (problem.ok()) return take_orders(arrived.take());
          // Which closures it was about is unknown: only a new session makes good for them.
          give_up_session(problem.wrap("orders that did not arrive"));
        });
      },
      [this](cancel_atom, session_id session, wire<cancel_orders>& message) {
        const fiber_host::turn scope{*fibers_};
        if (!in_session(session) || !message.open().ok()) return;
        cancel_ahead(*message);
        // What it releases is released after orders that may use it and whose tensors are still under way.
        inbox_->take(session, message, [this, session](const wire<cancel_orders>& arrived, const status& problem) {
          const fiber_host::turn within{*fibers_};
          if (in_session(session) && problem.ok()) take_cancellations(*arrived);
        });
      },
      [this](view_atom, wire<cluster_view>& view) {
        const fiber_host::turn scope{*fibers_};
        if (!view.open().ok()) return;
        view_.take(*view);
        variables_->take_view(*view);
        if (client_) self_->send(*client_, view_atom_v, view);
      },
      [this](activity_atom, session_id session, closure_id only) {
        return wire<std::vector<closure_activity>>{in_session(session) ? tell_activities(only)
                                                                       : std::vector<closure_activity>{}};
      },
  };
}

client_ptr worker_state::variables_of_replicas() {
  if (!client_) {
    client_ = std::make_shared<const client_actor>(
        self_->spawn<caf::linked>(client, dialer_, options_.variables, terms_.session));
    self_->send(*client_, view_atom_v, wire<cluster_view>{view_});
  }
  return client_;
}

bool worker_state::runs_for(const caf::actor_addr& coordinator) const {
  return coordinator_ && coordinator_.address() == coordinator;
}

void worker_state::begin_wait_for_closure() {
  if (waiting_ >= options_.waiting_max)
    throw resource_exhausted_error{fmt::format(
        "{} closures of this worker wait for remote values of others already, its limit (waiting_max); give schedule() "
        "the remote value as an argument instead of waiting for it in a closure",
        waiting_)};
  ++waiting_;
}

// --- sessions -------------------------------------------------------------------------------------------------------

void worker_state::begin(outcome_sink coordinator, const session_terms& terms) {
  const fiber_host::turn scope{*fibers_};
  end_session(session_over);
  coordinator_ = std::move(coordinator);
  terms_ = terms;
  told_waiting_ = 0;
  variables_->begin_session(terms.session);
  self_->monitor(coordinator_);
}

/// Ends the session from this side: the coordinator takes its closures back and admits the worker anew.
void worker_state::give_up_session(const status& why) {
  if (!coordinator_) return;
  self_->send(coordinator_, outcome_atom_v, terms_.session,
              wire<run_outcomes>{{.outcomes = {}, .session_ended = why, .waiting = 0}});
  end_session(why);
}

void worker_state::end_session(const status& why) {
  if (!coordinator_) return;
  self_->demonitor(coordinator_.address());
  coordinator_ = nullptr;
  inbox_->end(terms_.session, why);
  queued_.clear();
  cancelled_ahead_.clear();
  outcomes_.clear();
  fibers_->cancel_all(why);
  if (const auto ended = std::exchange(client_, nullptr)) self_->send(*ended, dismiss_atom_v);
  resources_.clear();
}

// --- orders ---------------------------------------------------------------------------------------------------------

void worker_state::take_orders(run_orders orders) {
  lookout_.work_came();
  for (auto& order : orders.orders) {
    if (order.builds != 0) {
      // Known from now on, so that closures that use it wait; built like any closure, but before those that wait.
      resources_[order.builds] = std::make_shared<resource_entry>();
      start(std::move(order));
    } else if (cancelled_ahead_.erase(order.id) == 0) {
      queued_.push_back(std::move(order));
    }
  }
}

/// What is here ends now. What is not has ended before, or its order is under way.
void worker_state::cancel_ahead(const cancel_orders& orders) {
  const auto may_come = inbox_->waits(terms_.session);
  for (const auto id : orders.closures)
    if (!cancel(id, orders.why) && may_come && cancelled_ahead_.insert(id).second)
      report(id, as_cancelled(orders.why), {});
}

/// All orders that were sent before are here.
void worker_state::take_cancellations(const cancel_orders& orders) {
  for (const auto id : orders.closures) cancelled_ahead_.erase(id);
  for (const auto id : orders.released) resources_.erase(id);
}

/// False: there is no such closure here.
bool worker_state::cancel(closure_id id, const status& why) {
  if (fibers_->runs(id)) {
    fibers_->cancel(id, why);
    return true;
  }
  const auto waiting = std::find_if(queued_.begin(), queued_.end(), [id](const auto& order) { return order.id == id; });
  if (waiting == queued_.end()) return false;
  queued_.erase(waiting);
  report(id, as_cancelled(why), {});
  return true;
}

void worker_state::start_some() {
  if (yielding_) return;
  const auto budget_ends = clock_.now() + options_.turn_budget;
  while (!queued_.empty() && fibers_->active() < std::size_t{terms_.slots} + waiting_) {
    auto order = std::move(queued_.front());
    queued_.pop_front();
    start(std::move(order));
    if (clock_.now() < budget_ends) continue;
    // Hear what the mailbox holds, then go on.
    yielding_ = true;
    make_notifier(self_, [this] {
      yielding_ = false;
      const fiber_host::turn scope{*fibers_};
    })();
    return;
  }
}

void worker_state::start(closure_order order) {
  const auto key = order.builds != 0 ? resource_fiber | order.builds : order.id;
  auto shared = std::make_shared<closure_order>(std::move(order));
  fibers_->run(key, [this, session = terms_.session, order = std::move(shared)] {
    status ended;
    value result;
    try {
      result = execute(*order);
    } catch (...) {
      ended = status_of(std::current_exception());
    }
    // A closure of an earlier session that was slow to end has nobody to report to.
    if (!coordinator_ || terms_.session != session) return;
    if (order->builds != 0)
      finish_resource(order->builds, std::move(ended), std::move(result));
    else
      report(order->id, std::move(ended), std::move(result));
  });
}

value worker_state::execute(const closure_order& order) {
  const auto& entry = function_registry::instance().find_or_throw(order.function);
  fiber_host::name_running(entry.description.c_str());
  std::vector<value> dependencies;
  dependencies.reserve(order.dependencies.size());
  for (const auto& dependency : order.dependencies) dependencies.push_back(dependency_value(dependency));
  return entry.call(order.arguments, dependencies);
}

/// Waits, in the closure's fiber, for a resource that is still being built (C-4).
value worker_state::dependency_value(const dependency& from) {
  if (from.resource == 0) return from.content;
  const auto found = resources_.find(from.resource);
  if (found == resources_.end())
    throw failed_precondition_error{fmt::format(
        "per-worker resource {} is not on this worker: it was released before this closure ran", from.resource)};
  const auto resource = found->second;
  if (!resource->built) {
    resource->waiting.push_back(wait_point::make());
    const auto here = resource->waiting.back();
    here->wait_until(never, "a per-worker resource");
  }
  if (!resource->problem.ok()) throw_status(resource->problem.wrap("a per-worker resource that it uses was not built"));
  return resource->content;
}

void worker_state::finish_resource(resource_id id, status ended, value content) {
  const auto found = resources_.find(id);
  if (found == resources_.end()) return;
  auto& resource = *found->second;
  resource.built = true;
  resource.problem = std::move(ended);
  resource.content = std::move(content);
  for (const auto& waiting : std::exchange(resource.waiting, {})) waiting->complete();
}

// --- what closures do -----------------------------------------------------------------------------------------------

std::vector<closure_activity> worker_state::tell_activities(closure_id only) const {
  std::vector<closure_activity> told;
  for (const auto key : fibers_->keys())
    if ((key & resource_fiber) == 0 && (only == 0 || key == only)) told.push_back(activity_of(key));
  std::sort(told.begin(), told.end(), [](const auto& a, const auto& b) {
    return std::pair{a.time_ns, b.id} > std::pair{b.time_ns, a.id};
  });
  for (const auto& order : queued_)
    if (order.builds == 0 && (only == 0 || order.id == only)) told.push_back({.id = order.id, .awaited = {}});
  constexpr std::size_t told_max = 64;
  if (told.size() > told_max) told.resize(told_max);
  return told;
}

/// Of one that has begun.
closure_activity worker_state::activity_of(closure_id id) const {
  auto activity = fibers_->activity(id).value_or(fiber_activity{});
  return {.id = id, .begun = true, .awaited = std::move(activity.awaited), .time_ns = activity.time.count()};
}

// --- outcomes -------------------------------------------------------------------------------------------------------

void worker_state::report(closure_id id, status ended, value result) {
  const auto now = clock_.now();
  if (outcomes_.empty()) first_outcome_ = now;
  outcomes_.push_back({id, std::move(ended), std::move(result)});
  if (outcomes_.size() >= options_.outcomes_max || now - first_outcome_ >= options_.outcome_delay) send_outcomes();
}

void worker_state::send_outcomes() {
  if (!coordinator_ || (outcomes_.empty() && waiting_ == told_waiting_)) return;
  told_waiting_ = waiting_;
  auto outcomes = std::exchange(outcomes_, {});
  outcomes_.reserve(options_.outcomes_max);
  if (!is_encoded_between(self_->node(), coordinator_.node())) {
    self_->send(coordinator_, outcome_atom_v, terms_.session,
                wire<run_outcomes>{{.outcomes = std::move(outcomes), .session_ended = {}, .waiting = waiting_}});
    return;
  }
  try {
    wire<run_outcomes> message{{.outcomes = outcomes, .session_ended = {}, .waiting = waiting_}};
    message.seal();
    self_->send(coordinator_, outcome_atom_v, terms_.session, std::move(message));
  } catch (...) {
    send_one_by_one(std::move(outcomes));
  }
}

/// A result that can't be sent (it is over a limit, or the user's code that encodes it throws) becomes an error; the
/// others go as they are.
void worker_state::send_one_by_one(std::vector<closure_outcome> outcomes) {
  for (auto& outcome : outcomes) {
    wire<run_outcomes> message{{.outcomes = {outcome}, .session_ended = {}, .waiting = waiting_}};
    try {
      message.seal();
    } catch (...) {
      outcome = {outcome.id, status_of(std::current_exception()).wrap("the closure's result could not be sent"), {}};
      message = wire<run_outcomes>{{.outcomes = {outcome}, .session_ended = {}, .waiting = waiting_}};
    }
    self_->send(coordinator_, outcome_atom_v, terms_.session, std::move(message));
  }
}

worker_actor::behavior_type worker(worker_state::pointer self, dialer_actor dialer, worker_options options) {
  return self->state.make_behavior(std::move(dialer), std::move(options));
}

}  // namespace troupe
