#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/replicas/merge_barrier.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe {

namespace {

/// The problem with what the replicas brought, or ok.
template <class Participants>
status disagreement(const lock_step& step, const Participants& replicas) {
  const auto& first = *replicas.front().arrived;
  for (auto i = std::size_t{1}; i < replicas.size(); ++i) {
    const auto& other = *replicas[i].arrived;
    if (other.function == first.function && other.arguments_type == first.arguments_type) continue;
    if (other.function == first.function)
      return {
          status_code::invalid_argument,
          fmt::format("{} called merge_call with arguments {}, but {} with {}; all replicas must bring the same "
                      "structure",
                      step.name_of(0), first.arguments_type, step.name_of(static_cast<int>(i)), other.arguments_type)};
    return {status_code::failed_precondition,
            fmt::format("{} called merge_call with {}, but {} with {}; all replicas must bring the same merge function",
                        step.name_of(0), first.function_name, step.name_of(static_cast<int>(i)), other.function_name)};
  }
  return {};
}

/// What those who wait for a replica that failed are told. A deadline, and calls that don't match, are theirs as well.
status told_to_others(const status& why) {
  const auto shared = why.code() == status_code::failed_precondition || why.code() == status_code::deadline_exceeded;
  return why.wrap(shared ? why.code() : status_code::aborted, "the run on all replicas has failed");
}

}  // namespace

merge_barrier_state::~merge_barrier_state() {
  const status gone{status_code::cancelled, "the strategy that ran this function was destroyed"};
  queued_.clear();
  fibers_.reset();
  for (auto& [_, run] : runs_) {
    run.step->abort_collectives(gone);
    run.step->end({run.failure.ok() ? gone : run.failure.why, run.failure.original}, {});
  }
}

merge_barrier_actor::behavior_type merge_barrier_state::make_behavior(merge_barrier_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  lost_.resize(options_.replicas.size());
  fibers_ = std::make_unique<fiber_host>(clock_, options_.fibers, this);
  for (const auto& replica : options_.replicas) self_->monitor(replica);
  self_->set_down_handler([this](caf::down_msg& down) {
    const fiber_host::turn scope{*fibers_};
    lose(down.source, status_of(down.reason, "its actor"));
  });
  return {
      [this](run_atom, const lock_step_ptr& step) {
        const fiber_host::turn scope{*fibers_};
        begin(step);
      },
      [this](arrive_atom, lock_step_id id, int replica, const merge_arrival_ptr& brought) {
        const fiber_host::turn scope{*fibers_};
        if (auto* const run = find(id)) arrive(*run, replica, brought);
      },
      [this](finished_atom, lock_step_id id, int replica, const replica_result_ptr& result) {
        const fiber_host::turn scope{*fibers_};
        if (auto* const run = find(id)) finish(*run, replica, *result);
      },
      [this](cancel_atom, lock_step_id id, const replica_result_ptr& why) {
        const fiber_host::turn scope{*fibers_};
        auto* const run = find(id);
        if (run == nullptr) return;
        fail(*run, why->failure);
        end_if_over(*run);
      },
  };
}

bool merge_barrier_state::runs_here(const merge_barrier_actor& which) {
  const auto* const here = dynamic_cast<merge_barrier_state*>(fiber_host::current_environment());
  return here != nullptr && here->self_->address() == which.address();
}

merge_barrier_state::active_step* merge_barrier_state::find(lock_step_id id) {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : &found->second;
}

void merge_barrier_state::begin(const lock_step_ptr& step) {
  auto& run = runs_[step->id()];
  run.step = step;
  run.replicas.resize(options_.replicas.size());
  run.deadline = clock_.at(step->deadline(), [this, id = step->id()] {
    const fiber_host::turn scope{*fibers_};
    pass_deadline(id);
  });
  if (step->nested()) return start(run);
  queued_.push_back(step->id());
  start_next();
}

void merge_barrier_state::start_next() {
  while (outermost_ == 0 && !queued_.empty()) {
    auto* const next = find(queued_.front());
    queued_.pop_front();
    if (next != nullptr) start(*next);
  }
}

void merge_barrier_state::start(active_step& run) {
  const auto lost = std::find_if(lost_.begin(), lost_.end(), [](const status& why) { return !why.ok(); });
  try {
    if (lost != lost_.end())
      throw_status(
          lost->wrap(status_code::unavailable, run.step->name_of(static_cast<int>(lost - lost_.begin())) + " is lost"));
    run.step->prepare_collectives();
  } catch (...) {
    fail(run, step_failure::current());
    return end_if_over(run);
  }
  run.at = stage::running;
  if (!run.step->nested()) outermost_ = run.step->id();
  for (const auto& replica : options_.replicas) self_->send(replica, run_atom_v, run.step);
}

// --- merging --------------------------------------------------------------------------------------------------------

void merge_barrier_state::arrive(active_step& run, int replica, merge_arrival_ptr brought) {
  awake_.start();
  auto& self = run.replicas[static_cast<std::size_t>(replica)];
  self.arrived = std::move(brought);
  ++run.arrived;
  if (run.at == stage::failed) return release(run, {});
  if (run.ended != 0) {
    const auto returned = std::find_if(run.replicas.begin(), run.replicas.end(), [](auto& each) { return each.ended; });
    fail(run, {{status_code::failed_precondition,
                fmt::format("{} called merge_call, but {} has returned: the replicas made a different number of "
                            "merge_call() calls",
                            run.step->name_of(replica),
                            run.step->name_of(static_cast<int>(returned - run.replicas.begin())))},
               nullptr});
    return;
  }
  if (run.arrived == run.replicas.size()) merge(run);
}

void merge_barrier_state::merge(active_step& run) {
  if (auto problem = disagreement(*run.step, run.replicas); !problem.ok()) return fail(run, {problem, nullptr});
  run.at = stage::merging;
  std::vector<erased> arguments;
  arguments.reserve(run.replicas.size());
  for (const auto& each : run.replicas) arguments.push_back(each.arrived->arguments);
  const auto first = run.replicas.front().arrived;
  fibers_->run(run.step->id(), [this, id = run.step->id(), first, arguments = std::move(arguments)] {
    std::vector<erased> parts;
    step_failure failure;
    try {
      parts = first->merge(arguments);
    } catch (...) {
      failure = step_failure::current();
    }
    auto& merged = *find(id);
    merged.at = stage::running;
    try {
      if (failure.ok()) merged.step->prepare_collectives();
    } catch (...) {
      failure = step_failure::current();
    }
    if (failure.ok() && merged.failure.ok()) {
      merged.step->ledger().unpark_all();
      return release(merged, parts);
    }
    fail(merged, std::move(failure));
    end_if_over(merged);
  });
}

/// Lets the replicas that wait go on: with their parts, or with the failure if there is one.
void merge_barrier_state::release(active_step& run, const std::vector<erased>& parts) {
  for (auto i = std::size_t{0}; i < run.replicas.size(); ++i) {
    if (!std::exchange(run.replicas[i].arrived, nullptr)) continue;
    auto part = std::make_shared<replica_result>();
    if (run.failure.ok())
      part->content = parts[i];
    else
      part->failure.why = told_to_others(run.failure.why);
    self_->send(options_.replicas[i], merged_atom_v, run.step->id(), std::move(part));
  }
  run.arrived = 0;
}

// --- ends -----------------------------------------------------------------------------------------------------------

void merge_barrier_state::finish(active_step& run, int replica, const replica_result& result) {
  auto& self = run.replicas[static_cast<std::size_t>(replica)];
  if (std::exchange(self.ended, true)) return;
  ++run.ended;
  self.result = result.content;
  if (!result.failure.ok()) {
    fail(run, {result.failure.why.wrap(run.step->name_of(replica) + " failed"), result.failure.original});
  } else if (run.arrived != 0) {
    const auto waiting =
        std::find_if(run.replicas.begin(), run.replicas.end(), [](auto& each) { return each.arrived != nullptr; });
    fail(run, {{status_code::failed_precondition,
                fmt::format("{} has returned while {} waits in merge_call: the replicas made a different number of "
                            "merge_call() calls",
                            run.step->name_of(replica),
                            run.step->name_of(static_cast<int>(waiting - run.replicas.begin())))},
               nullptr});
  }
  end_if_over(run);
}

void merge_barrier_state::fail(active_step& run, step_failure failure) {
  if (run.failure.ok()) run.failure = std::move(failure);
  // No replica has started.
  if (run.at == stage::queued) run.ended = run.replicas.size();
  // The replicas wait until the merge function has ended, which is cancelled.
  if (run.at == stage::merging) return fibers_->cancel(run.step->id(), run.failure.why);
  const auto before = std::exchange(run.at, stage::failed);
  if (before == stage::running) {
    const auto why = std::make_shared<replica_result>();
    why->failure.why = told_to_others(run.failure.why);
    run.step->abort_collectives(why->failure.why);
    for (auto i = std::size_t{0}; i < run.replicas.size(); ++i)
      if (!run.replicas[i].ended && !run.replicas[i].arrived)
        self_->send(options_.replicas[i], cancel_atom_v, run.step->id(), why);
  }
  release(run, {});
}

/// The caller hears of it now, whatever its replicas still compute; the step is kept until they have ended.
void merge_barrier_state::pass_deadline(lock_step_id id) {
  auto* const run = find(id);
  if (run == nullptr) return;
  std::vector<std::string> missing;
  for (auto i = std::size_t{0}; i < run->replicas.size(); ++i)
    if (!run->replicas[i].ended && !run->replicas[i].arrived)
      missing.push_back(run->step->name_of(static_cast<int>(i)));
  const auto who = run->at == stage::merging ? "the merge function" : fmt::format("{}", fmt::join(missing, ", "));
  const status late{status_code::deadline_exceeded,
                    fmt::format("the deadline passed before {} came to an end or to its next merge_call", who)};
  run->step->end({run->failure.ok() ? late : run->failure.why, run->failure.original}, {});
  fail(*run, {late, nullptr});
  end_if_over(*run);
}

void merge_barrier_state::end_if_over(active_step& run) {
  if (run.ended != run.replicas.size() || run.at == stage::merging) return;
  clock_.cancel(run.deadline);
  std::vector<erased> results;
  results.reserve(run.replicas.size());
  for (auto& each : run.replicas) results.push_back(std::move(each.result));
  const auto step = run.step;
  auto failure = std::move(run.failure);
  runs_.erase(step->id());
  if (outermost_ == step->id()) outermost_ = 0;
  step->end(std::move(failure), std::move(results));
  start_next();
}

void merge_barrier_state::lose(const caf::actor_addr& which, const status& why) {
  const auto place = std::find_if(options_.replicas.begin(), options_.replicas.end(),
                                  [&](const auto& each) { return each.address() == which; });
  if (place == options_.replicas.end()) return;
  const auto index = place - options_.replicas.begin();
  lost_[static_cast<std::size_t>(index)] = why;
  std::vector<lock_step_id> open;
  for (const auto& [id, _] : runs_) open.push_back(id);
  for (const auto id : open) {
    auto* const run = find(id);
    if (run == nullptr) continue;
    auto& self = run->replicas[static_cast<std::size_t>(index)];
    if (std::exchange(self.ended, true)) continue;
    ++run->ended;
    if (std::exchange(self.arrived, nullptr)) --run->arrived;
    fail(*run, {why.wrap(status_code::unavailable, run->step->name_of(static_cast<int>(index)) + " is lost"), nullptr});
    end_if_over(*run);
  }
}

merge_barrier_actor::behavior_type merge_barrier(merge_barrier_state::pointer self, merge_barrier_options options) {
  return self->state.make_behavior(std::move(options));
}

}  // namespace troupe
