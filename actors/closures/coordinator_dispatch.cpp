// The coordinator's way to the workers: admission, loss, and sending closures out in batches.
#include <troupe/actors/closures/coordinator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

// --- sending closures out -------------------------------------------------------------------------------------------

void coordinator_state::touch(worker_entry& worker) {
  if (!std::exchange(worker.touched, true)) touched_.push_back(&worker);
}

/// First what only one worker may run, then what waits for any.
void coordinator_state::send_out() {
  do {
    // Those that are touched meanwhile join the line.
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      auto& worker = *touched_[i];
      worker.touched = false;
      fill(worker);
    }
    touched_.clear();
    pump();
  } while (!touched_.empty());
}

void coordinator_state::pump() {
  // While a generation is being cancelled nothing new starts.
  while (queued_count_ != 0 && !cancelling_) {
    std::uint32_t share = 0;
    auto* worker = roster_.next(queued_count_, share);
    if (worker == nullptr) return;
    for (auto level = queued_.rbegin(); level != queued_.rend() && share != 0; ++level)
      while (share != 0 && !level->empty()) {
        --queued_count_;
        if (send_from(*worker, *level)) --share;
      }
    flush(*worker);
    roster_.offer(*worker);
  }
}

void coordinator_state::fill(worker_entry& worker) {
  while (!worker.tagged.empty() && roster_.credit(worker) != 0 && !cancelling_) send_from(worker, worker.tagged);
  flush(worker);
}

/// Sends the front of the queue to the worker, unless it has ended meanwhile or this worker can't run it.
bool coordinator_state::send_from(worker_entry& worker, std::deque<closure_ptr>& queue) {
  const auto what = std::move(queue.front());
  queue.pop_front();
  if (what->ended()) return false;
  if (!can_run(worker, what->function)) {
    redirect(what);
    return false;
  }
  what->at = closure::stage::in_flight;
  what->id = in_flight_.add(what, worker.index);
  auto& order = worker.outgoing.emplace_back();
  order.id = what->id;
  order.function = what->function;
  order.arguments = what->arguments;
  order.dependencies.reserve(what->inputs.size());
  for (const auto& input : what->inputs)
    order.dependencies.push_back({input.resource, input.producer ? input.producer->result() : value{}});
  roster_.sent(worker, clock_.now());
  return true;
}

/// A worker with another binary does not have this function: another worker gets it, or nobody has it.
void coordinator_state::redirect(const closure_ptr& what) {
  if (what->options.worker < 0)
    for (const auto& other : roster_.all())
      if (other->at == worker_entry::admission::admitted && can_run(*other, what->function)) {
        other->tagged.push_back(what);
        return touch(*other);
      }
  status why{status_code::not_found,
             fmt::format("{} is on no worker that could run it: these are other binaries, which know only functions "
                         "that are registered by name; register it there with TROUPE_REGISTER, or start the workers "
                         "with the chief's binary",
                         to_string(what->function))};
  note_error(why);
  end(what, std::move(why), {});
}

void coordinator_state::flush(worker_entry& worker) {
  if (worker.outgoing.empty()) return;
  auto orders = std::exchange(worker.outgoing, {});
  worker.outgoing.reserve(orders.size());
  if (worker.handle.node() == self_->node()) {
    self_->send(worker.handle, run_atom_v, worker.session, wire<run_orders>{{.orders = std::move(orders)}});
    return;
  }
  try {
    wire<run_orders> message{{.orders = orders}};
    message.seal();
    self_->send(worker.handle, run_atom_v, worker.session, std::move(message));
  } catch (const error&) {
    flush_one_by_one(worker, std::move(orders));
  }
}

/// Some closure of a batch can't be sent (its arguments are over a limit): that one fails, the others go.
void coordinator_state::flush_one_by_one(worker_entry& worker, std::vector<closure_order> orders) {
  for (auto& order : orders) {
    const auto id = order.id;
    try {
      wire<run_orders> message{{.orders = {std::move(order)}}};
      message.seal();
      self_->send(worker.handle, run_atom_v, worker.session, std::move(message));
    } catch (const error& failed) {
      if (in_flight_.find(id) == nullptr) continue;
      const auto what = in_flight_.remove(id);
      auto why = failed.get_status().wrap(
          fmt::format("{} could not be sent to /job:worker/task:{}", to_string(what->function), worker.index));
      roster_.ended(worker, 1, clock_.now());
      if (what->ended()) continue;
      note_error(why);
      end(what, std::move(why), {});
    }
  }
}

void coordinator_state::send_cancel(worker_entry& worker, std::vector<closure_id> closures,
                                    std::vector<resource_id> released, const status& why) {
  flush(worker);
  if (worker.at != worker_entry::admission::admitted) return;
  self_->send(worker.handle, cancel_atom_v, worker.session,
              wire<cancel_orders>{{std::move(closures), std::move(released), why}});
}

// --- workers --------------------------------------------------------------------------------------------------------

void coordinator_state::worker_up(const worker_actor& handle, identity who) {
  auto& worker = roster_.entry(who.task.index);
  lose(worker, {status_code::unavailable, fmt::format("{} came back as a new process", to_string(who.task))});
  worker.handle = handle;
  worker.who = std::move(who);
  worker.foreign = worker.who.build_id != program_build_id();
  worker.at = worker_entry::admission::admitting;
  self_->monitor(handle);
  request_admission(worker);
}

void coordinator_state::request_admission(worker_entry& worker) {
  sessions_.erase(worker.session);
  const auto session = worker.session = last_session_++;
  sessions_.emplace(session, &worker);
  const auto still_wanted = [&worker, session] {
    return worker.at == worker_entry::admission::admitting && worker.session == session;
  };
  requests_.ask(
      worker.handle, options_.admission_limit, fmt::format("admitting /job:worker/task:{}", worker.index),
      [this, &worker, still_wanted](caf::ok_atom) {
        const turn scope{*this};
        if (still_wanted()) admitted(worker);
      },
      [this, &worker, still_wanted](const status&) {
        if (!still_wanted()) return;
        clock_.after(options_.admission_retry, [this, &worker, still_wanted] {
          const turn scope{*this};
          if (still_wanted()) request_admission(worker);
        });
      },
      admit_atom_v, outcome_sink{self_},
      wire<session_terms>{{session, worker.index, std::max(options_.windows.slots, options_.windows.fibers_max)}});
}

void coordinator_state::admitted(worker_entry& worker) {
  roster_.admit(worker, clock_.now());
  for (const auto& [_, order] : resources_) worker.outgoing.push_back(order);
  if (!resources_.empty())
    publish({.kind = event_kind::resources_rebuilt, .task = worker.who.task, .count = resources_.size()});
  touch(worker);
}

bool coordinator_state::can_run(const worker_entry& worker, const function_id& function) const {
  const auto& names = worker.who.functions;
  return !worker.foreign ||
         (!function.name.empty() && std::find(names.begin(), names.end(), function.name) != names.end());
}

/// Ends the worker's session and begins another with the same process.
void coordinator_state::readmit(worker_entry& worker, const status& why) {
  const auto handle = worker.handle;
  auto who = worker.who;
  lose(worker, why);
  worker_up(handle, std::move(who));
}

/// Everything that the worker held goes back to the queue, at its front: it has waited longest (C-3).
void coordinator_state::lose(worker_entry& worker, const status& why) {
  if (worker.at == worker_entry::admission::gone) return;
  self_->demonitor(worker.handle.address());
  requests_.lost(worker.handle.address(), why);
  // A worker that is frozen, not dead, learns on waking that its session is over.
  self_->send(worker.handle, dismiss_atom_v, worker.session);
  const auto held = in_flight_.held_by(worker.index);
  roster_.dismiss(worker);
  sessions_.erase(worker.session);
  outcomes_->end(worker.session, why);
  std::uint64_t requeued = 0;
  for (auto id = held.rbegin(); id != held.rend(); ++id) {
    const auto what = in_flight_.remove(*id);
    if (what->ended()) continue;
    if (cancelling_) {
      end(what, why.wrap(status_code::cancelled, "cancelled: its worker was lost while an error was being raised"), {});
    } else if (++what->lost_workers >= options_.lost_workers_max) {
      auto fatal =
          why.wrap(status_code::aborted, fmt::format("{} was lost with its worker {} times; it may be what ends "
                                                     "them",
                                                     to_string(what->function), what->lost_workers));
      note_error(fatal);
      end(what, std::move(fatal), {});
    } else {
      ++requeued;
      enqueue(what, true);
    }
  }
  if (requeued != 0)
    publish({.kind = event_kind::closures_requeued, .task = worker.who.task, .count = requeued, .why = why});
}

}  // namespace troupe
