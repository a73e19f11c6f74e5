#include <troupe/actors/closures/internal/outcome_message.hpp>
#include <troupe/actors/closures/worker.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/variables/client.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// Fibers are named by what they run; closures' ids stay far below this bit.
constexpr std::uint64_t resource_fiber = std::uint64_t{1} << 63;

const status admitted_by_another{status_code::aborted, "another coordinator has admitted the worker"};

status as_cancelled(const status& why) {
  return why.code() == status_code::cancelled ? why : why.wrap(status_code::cancelled, "cancelled");
}

}  // namespace

worker_actor::behavior_type worker_state::make_behavior(dialer_actor dialer, worker_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  fibers_ = std::make_unique<fiber_host>(clock_, options_.fibers, this);
  inbox_.emplace(self_, options_.inbox, fibers_.get());
  dialer_ = std::move(dialer);
  variables_ = std::make_unique<variable_client>(self_, clock_, dialer_, options_.variables, fibers_.get());
  desk_ = self_->spawn<caf::linked>(worker_desk, self_->address(), trays_);
  fibers_->at_turn_begin([this] { trays_->begin_turn(); });
  fibers_->at_turn_end([this] {
    start_some();
    variables_->flush();
    const auto has_orders = send_outcomes(true);
    if (fibers_->active() == 0 && !has_orders) lookout_.idle();
  });
  self_->set_down_handler([this](caf::down_msg& down) {
    const fiber_host::turn scope{*fibers_};
    if (variables_->down(down.source, status_of(down.reason, "the link to a server"))) return;
    if (coordinator_ && coordinator_.address() == down.source) end_session(session_over);
  });
  return {
      [this](admit_atom, const outcome_sink& coordinator,
             wire<session_terms>& terms) -> caf::result<worker_desk_actor> {
        if (const auto problem = terms.open(); !problem.ok()) return make_error(problem);
        if (const auto problem = begin(coordinator, *terms); !problem.ok()) return make_error(problem);
        return desk_;
      },
      [this](dismiss_atom, session_id session) {
        const fiber_host::turn scope{*fibers_};
        // Zero comes from this process, not from the coordinator, which still counts on the session.
        if (session == 0) return give_up_session(session_over);
        if (session == terms_.session) end_session(session_over);
      },
      [this](run_atom, session_id session, std::uint64_t first, std::uint64_t last, wire<run_orders>& message) {
        const fiber_host::turn scope{*fibers_};
        if (!in_session(session)) return tell_over(session);
        // What was given back, or comes again, is not fetched any more: its data may be gone.
        if (first != 0 && !trays_->announce(first, last, message.arrival())) return;
        inbox_->take(session, message, [this, session, first, last](wire<run_orders>& arrived, const status& problem) {
          const fiber_host::turn within{*fibers_};
          if (!in_session(session)) return;
          if (problem.ok()) return first == 0 ? build(arrived.take()) : take_orders(first, arrived.take());
          if (first != 0 && trays_->lose(first, last)) return;
          // Only a new session makes good for closures that did not come.
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

void worker_state::begin_wait_for_closure(std::shared_ptr<const closure> other) {
  if (waiting_ >= options_.waiting_max)
    throw resource_exhausted_error{fmt::format(
        "{} closures of this worker wait for remote values of others already, its limit (waiting_max); give schedule() "
        "the remote value as an argument instead of waiting for it in a closure",
        waiting_)};
  ++waiting_;
  // Other processes have none of the objects that closures here may wait for.
  if (!coordinator_ || coordinator_.node() != self_->node()) return;
  awaited_[fiber_host::current_key()] = {.other = std::move(other), .since = clock_.now()};
  tell_long_waits();
}

void worker_state::end_wait_for_closure() {
  --waiting_;
  const auto ended = awaited_.extract(fiber_host::current_key());
  if (!ended.empty() && ended.mapped().told && coordinator_)
    self_->send(coordinator_, await_atom_v, terms_.session, ended.key(), std::shared_ptr<const closure>{});
}

/// Those that the coordinator does not know of, and again when the next one has waited for so long.
void worker_state::tell_long_waits() {
  if (waits_timed_) return;
  const auto long_since = clock_.now() - options_.long_wait;
  auto next = never;
  for (auto& [waiting, awaited] : awaited_) {
    if (awaited.told) continue;
    if (awaited.since > long_since) {
      next = std::min(next, awaited.since + options_.long_wait);
      continue;
    }
    awaited.told = true;
    if (coordinator_) self_->send(coordinator_, await_atom_v, terms_.session, waiting, awaited.other);
  }
  if (next == never) return;
  waits_timed_ = true;
  clock_.at(next, [this] {
    waits_timed_ = false;
    tell_long_waits();
  });
}

// --- sessions -------------------------------------------------------------------------------------------------------

/// A coordinator counts its sessions up: one that is not newer is an admission of before that comes again.
status worker_state::begin(outcome_sink coordinator, const session_terms& terms) {
  const fiber_host::turn scope{*fibers_};
  if (admitted_by_ == coordinator.address() && terms.session <= terms_.session)
    return in_session(terms.session) ? status{} : status{status_code::aborted, "the admission to a session of before"};
  // Another one still counts on its session, and would wait for closures that nobody runs.
  coordinator_ == coordinator ? end_session(session_over) : give_up_session(admitted_by_another);
  coordinator_ = std::move(coordinator);
  terms_ = terms;
  told_waiting_ = 0;
  told_recall_ = 0;
  admitted_by_ = coordinator_.address();
  trays_->begin(terms.session, coordinator_);
  variables_->begin_session(terms.session);
  self_->monitor(coordinator_);
  return {};
}

/// Ends the session from this side: the coordinator takes its closures back and admits the worker anew.
void worker_state::give_up_session(const status& why) {
  if (!coordinator_) return;
  self_->send(coordinator_, outcome_atom_v, terms_.session, std::uint64_t{0},
              wire<run_outcomes>{{.outcomes = {}, .session_ended = why}});
  end_session(why);
}

/// Whoever has sent something of this session counts on it, though it is over here, and would wait for closures that
/// nobody runs.
void worker_state::tell_over(session_id session) {
  const auto sender = caf::actor_cast<outcome_sink>(self_->current_sender());
  if (!sender || session == told_over_) return;
  told_over_ = session;
  self_->send(sender, outcome_atom_v, session, std::uint64_t{0},
              wire<run_outcomes>{{.outcomes = {}, .session_ended = session_over}});
}

void worker_state::end_session(const status& why) {
  if (!coordinator_) return;
  self_->demonitor(coordinator_.address());
  coordinator_ = nullptr;
  inbox_->end(terms_.session, why);
  trays_->end();
  ended_.clear();
  unsent_ = 0;
  cancelled_ahead_.clear();
  fibers_->cancel_all(why);
  if (const auto ended = std::exchange(client_, nullptr)) self_->send(*ended, dismiss_atom_v);
  resources_.clear();
}

// --- orders ---------------------------------------------------------------------------------------------------------

/// Known from now on, so that closures that use them wait; built like any closure, but before those that wait.
void worker_state::build(run_orders orders) {
  lookout_.work_came();
  for (auto& order : orders.orders) {
    if (!resources_.try_emplace(order.builds, std::make_shared<resource_entry>()).second) continue;
    start(std::move(order));
  }
}

void worker_state::take_orders(std::uint64_t first, run_orders orders) {
  lookout_.work_came();
  if (!cancelled_ahead_.empty())
    std::erase_if(orders.orders, [this](const auto& order) { return cancelled_ahead_.erase(order.id) != 0; });
  if (const auto waiting = trays_->size() + orders.orders.size(); waiting > options_.orders_max)
    return give_up_session({status_code::resource_exhausted,
                            fmt::format("{} closures wait on this worker, and its limit is {} "
                                        "(worker_options::orders_max); raise it, or lower the coordinator's "
                                        "window_options::window_max",
                                        waiting, options_.orders_max)});
  const auto now = clock_.now();
  for (auto& order : orders.orders)
    if (order.deadline_ns != 0) order.deadline_ns = later(now, duration{order.deadline_ns}).time_since_epoch().count();
  trays_->put(first, std::move(orders.orders));
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
  if (!trays_->remove(id)) return false;
  report(id, as_cancelled(why), {});
  return true;
}

void worker_state::start_some() {
  if (yielding_) return;
  const auto budget_ends = clock_.now() + options_.turn_budget;
  while (fibers_->active() < std::size_t{terms_.slots} + waiting_) {
    auto order = take_order();
    if (!order) return;
    reported_at_ = never;
    starting_ = true;
    start(std::move(*order));
    starting_ = false;
    // One that has ended has asked for the time.
    if ((reported_at_ == never ? clock_.now() : reported_at_) < budget_ends) continue;
    // Hear what the mailbox holds, then go on.
    yielding_ = true;
    make_notifier(self_, [this] {
      yielding_ = false;
      const fiber_host::turn scope{*fibers_};
    })();
    return;
  }
}

std::optional<closure_order> worker_state::take_order() {
  const auto some_have_ended = !ended_.empty();
  auto order = trays_->take(ended_);
  if (order && some_have_ended) alarm_desk();
  return order;
}

/// What lies in the tray is not to wait for the end of a closure that computes for long.
void worker_state::alarm_desk() {
  if (trays_->set_alarm()) self_->delayed_send(desk_, options_.desk_delay, caf::tick_atom_v);
}

void worker_state::start(closure_order&& order) {
  const auto key = order.builds != 0 ? resource_fiber | order.builds : order.id;
  // What an earlier session ran has ended with it, so this has come twice.
  if (fibers_->runs(key)) return;
  const auto deadline = order.deadline_ns == 0 ? never : time_point{duration{order.deadline_ns}};
  auto shared = std::make_shared<closure_order>(std::move(order));
  auto work = [this, session = terms_.session, order = std::move(shared)] {
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
  };
  fibers_->run(key, std::move(work), deadline);
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
  for (const auto id : trays_->orders())
    if (only == 0 || id == only) told.push_back({.id = id, .awaited = {}});
  if (told.size() > closure_activities_max) told.resize(closure_activities_max);
  return told;
}

fiber_work worker_state::describe_work(std::uint64_t key) const {
  const auto here = options_.task.job.empty() ? std::string{} : " on " + to_string(options_.task);
  if ((key & resource_fiber) != 0)
    return {.name = fmt::format("per-worker resource {}{}", key & ~resource_fiber, here)};
  return {.name = fmt::format("closure {}.{}{}", key & 0xffffffffu, key >> 32, here), .closure = key};
}

/// Of one that has begun.
closure_activity worker_state::activity_of(closure_id id) const {
  auto activity = fibers_->activity(id).value_or(fiber_activity{});
  return {.id = id, .begun = true, .awaited = std::move(activity.awaited), .time_ns = activity.time.count()};
}

// --- outcomes -------------------------------------------------------------------------------------------------------

void worker_state::report(closure_id id, status ended, value result) {
  const auto now = reported_at_ = clock_.now();
  ended_.push_back({id, std::move(ended), std::move(result)});
  if (++unsent_ == 1) first_outcome_ = now;
  if (unsent_ >= options_.outcomes_max || now - first_outcome_ >= options_.outcome_delay) {
    send_outcomes(false);
  } else if (!starting_) {
    // It had waited; others that did go on after it.
    trays_->put_outcomes(ended_);
    alarm_desk();
  }
}

/// Whether there are orders that have not begun.
bool worker_state::send_outcomes(bool turn_ends) {
  auto tray = trays_->take_outcomes(ended_, turn_ends);
  unsent_ = 0;
  const auto has_news = !tray.outcomes.empty() || waiting_ != told_waiting_ || tray.recall != told_recall_;
  if (!coordinator_ || !has_news) return tray.has_orders;
  told_waiting_ = waiting_;
  told_recall_ = tray.recall;
  ended_.reserve(options_.outcomes_max);
  troupe::send_outcomes(
      self_, coordinator_, terms_.session, tray.recall,
      {.outcomes = std::move(tray.outcomes), .session_ended = {}, .by_desk = false, .waiting = waiting_});
  return tray.has_orders;
}

worker_actor::behavior_type worker(worker_state::pointer self, dialer_actor dialer, worker_options options) {
  return self->state.make_behavior(std::move(dialer), std::move(options));
}

}  // namespace troupe
