#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/offers/supervisor.hpp>

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace troupe {

namespace {

bool is_failure(const caf::error& reason) { return reason && reason != caf::exit_reason::user_shutdown; }

}  // namespace

// --- for members ----------------------------------------------------------------------------------------------------

caf::actor member::supervise(supervision_options options, std::vector<supervised_child> children) const {
  options.check();
  check(children);
  for (const auto& child : children)
    if (child.is_offered() && context_->book->find(child.name()))
      throw already_exists_error{fmt::format(
          "{} offers \"{}\" already, so that no child of a supervisor can have the name: withdraw it first, or take "
          "another name",
          to_string(task()), child.name())};
  auto made =
      system().spawn(supervisor, supervisor_plan{context_, scope_ != nullptr, std::move(options), std::move(children)});
  keep(made);
  return made;
}

// --- starting -------------------------------------------------------------------------------------------------------

/// It may have been killed: nobody waits for its actors any more.
supervisor_state::~supervisor_state() {
  for (const auto& actor : take_all()) {
    plan_.context->book->forget(actor.address());
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
}

caf::behavior supervisor_state::make_behavior(supervisor_plan plan) {
  plan_ = std::move(plan);
  children_.reserve(plan_.children.size());
  for (auto& each : plan_.children) children_.push_back({.what = std::move(each)});
  self_->set_default_handler(caf::drop);
  self_->set_down_handler([this](const caf::down_msg& what) { down(what); });
  self_->set_exit_handler([this](const caf::exit_msg& what) {
    if (!what.reason || phase_ == phase::ending) return;
    end_all(phase::ending, [this, reason = what.reason] { self_->quit(reason); });
  });
  // What ends an actor before it has a behaviour does not end it.
  self_->send(self_, caf::tick_atom_v);
  return {[this](caf::tick_atom) {
    if (phase_ == phase::idle) start_all();
  }};
}

void supervisor_state::start_all() {
  if (plan_.context->has_begun_to_end()) return;
  phase_ = phase::serving;
  failing_.last_start = clock_.now();
  for (auto& each : children_) {
    start(each);
    // Its failure may be that of all.
    if (phase_ != phase::serving) return;
  }
}

void supervisor_state::start(child& which) {
  if (plan_.context->has_begun_to_end()) return;
  which.failing.last_start = clock_.now();
  which.scope = std::make_shared<child_scope>(self_->address());
  try {
    member here{plan_.context, which.scope};
    const auto made = which.what.start(here);
    if (!made.actor) throw invalid_argument_error{"its function returned no actor: it must return the one it spawned"};
    which.actor = made.actor->address();
    // It may have been spawned otherwise.
    if (!which.scope->holds(which.actor)) which.scope->keep(caf::actor_cast<caf::actor>(made.actor));
    if (which.what.is_offered()) plan_.context->book->offer(which.what.name(), made);
  } catch (...) {
    failed(which, status_of(std::current_exception()).wrap(description(which) + " did not start"));
  }
}

// --- failures -------------------------------------------------------------------------------------------------------

void supervisor_state::down(const caf::down_msg& what) {
  for (auto& each : ends_)
    if (each.forget(what.source)) return;
  for (auto& each : children_) {
    if (!each.scope || !each.scope->forget(what.source)) continue;
    if (is_failure(what.reason)) return failed(each, status_of(what.reason, description(each) + " ended"));
    if (each.actor == what.source) end_child(each, [] {});
    return;
  }
}

void supervisor_state::failed(child& which, const status& why) {
  if (plan_.context->has_begun_to_end()) return end_child(which, [] {});
  const auto& options = plan_.options;
  const auto all = options.policy == restart_policy::one_for_all;
  const auto now = clock_.now();
  if (is_once_too_many(now)) return give_up(which, why);
  restarts_.push_back(now);
  auto& failing = all ? failing_ : which.failing;
  if (now - failing.last_start >= options.within) failing.failures = 0;
  const auto pause = pause_after(++failing.failures);
  report(fmt::format("{} failed; {} in {} ms, restart {} of {} within {} ms: {}", description(which),
                     all ? "it and the other children of its supervisor are restarted" : "it is restarted",
                     in_milliseconds(pause), restarts_.size(), options.restarts_max, in_milliseconds(options.within),
                     why.render()));
  const auto when = later(now, pause);
  if (all)
    end_all(phase::restarting, [this, when] { clock_.at(when, [this] { start_all(); }); });
  else
    end_child(which, [this, &which, when] { which.restart = clock_.at(when, [this, &which] { start(which); }); });
}

bool supervisor_state::is_once_too_many(time_point now) {
  while (!restarts_.empty() && now - restarts_.front() >= plan_.options.within) restarts_.pop_front();
  return restarts_.size() >= static_cast<std::size_t>(plan_.options.restarts_max);
}

duration supervisor_state::pause_after(int failures) const {
  const auto longest = plan_.options.pause_max;
  auto pause = plan_.options.first_pause;
  for (auto i = 1; i < failures && pause != duration::zero() && pause < longest; ++i)
    pause = pause > longest / 2 ? longest : 2 * pause;
  return pause;
}

void supervisor_state::give_up(const child& which, const status& why) {
  const auto& options = plan_.options;
  const auto all = why.wrap(
      status_code::resource_exhausted,
      fmt::format("{} failed, and its supervisor gave up: after {} restarts within {} ms, its limit (restarts_max)",
                  description(which), options.restarts_max, in_milliseconds(options.within)));
  report(all.render());
  end_all(phase::giving_up, [this, all] { escalate(all); });
}

void supervisor_state::escalate(const status& why) {
  if (plan_.context->has_begun_to_end()) return self_->quit(caf::exit_reason::user_shutdown);
  if (!plan_.options.on_giving_up) {
    self_->quit(make_error(why));
    if (!plan_.is_nested) plan_.context->fail(why);
    return;
  }
  try {
    plan_.options.on_giving_up(why);
  } catch (...) {
    report("on_giving_up of a supervisor failed: " + status_of(std::current_exception()).render());
  }
  self_->quit();
}

// --- ending ---------------------------------------------------------------------------------------------------------

void supervisor_state::end_child(child& which, continuation then) {
  const auto scope = std::exchange(which.scope, nullptr);
  const auto actors = scope ? scope->close() : std::vector<caf::actor>{};
  end({actors.begin(), actors.end()}, std::move(then));
}

void supervisor_state::end_all(phase next, continuation then) {
  phase_ = next;
  end(take_all(), std::move(then));
}

/// Those that are ending already, too. No child runs any more.
std::deque<caf::actor> supervisor_state::take_all() {
  std::deque<caf::actor> actors;
  for (auto each = children_.rbegin(); each != children_.rend(); ++each) {
    clock_.cancel(each->restart);
    if (const auto scope = std::exchange(each->scope, nullptr))
      for (auto& actor : scope->close()) actors.push_back(std::move(actor));
  }
  for (auto& each : ends_)
    for (auto& actor : each.take()) actors.push_back(std::move(actor));
  ends_.clear();
  return actors;
}

void supervisor_state::end(std::deque<caf::actor> actors, continuation then) {
  ends_.emplace_front(clock_, plan_.options.end_limit, std::move(actors),
                      [this](const caf::actor& stuck) { leave_behind(stuck); });
  const auto place = ends_.begin();
  place->begin([this, place, then = std::move(then)] {
    ends_.erase(place);
    then();
  });
}

/// Its names are free for the next life (V-2).
void supervisor_state::leave_behind(const caf::actor& stuck) {
  plan_.context->book->forget(stuck.address());
  report(
      fmt::format("an actor (number {}) has not ended within {} ms, nor has it been killed within as many: it is "
                  "left behind; it computes or waits in a handler",
                  stuck.id(), in_milliseconds(plan_.options.end_limit)));
}

// --- words ----------------------------------------------------------------------------------------------------------

std::string supervisor_state::description(const child& which) const {
  return fmt::format("\"{}\" on {}", which.what.name(), to_string(plan_.context->book->owner()));
}

void supervisor_state::report(const std::string& line) const {
  if (plan_.context->report) plan_.context->report(line);
}

caf::behavior supervisor(supervisor_state::pointer self, supervisor_plan plan) {
  return self->state.make_behavior(std::move(plan));
}

}  // namespace troupe
