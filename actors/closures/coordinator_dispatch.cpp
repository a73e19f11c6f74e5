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
    while (!touched_.empty()) {
      auto& worker = *touched_.front();
      touched_.pop_front();
      worker.touched = false;
      fill(worker);
    }
    send_suspects();
    pump();
  } while (!touched_.empty());
}

void coordinator_state::pump() {
  // While a generation is being cancelled nothing new starts.
  while (queued_count_ != 0 && !cancelling_) {
    std::uint32_t share = 0;
    auto* worker = roster_.next(queued_count_ + coming_, share);
    if (worker == nullptr) return;
    const auto now = clock_.now();
    for (auto level = queued_.rbegin(); level != queued_.rend() && share != 0; ++level)
      while (share != 0 && !level->empty()) {
        --queued_count_;
        if (send_from(*worker, *level, now)) --share;
      }
    flush(*worker);
    roster_.offer(*worker);
  }
}

/// What has ended, by its limit or a cancellation, leaves its queue when it is sent out. Where nobody comes for it,
/// that would be never: so it goes when most of what waits has ended.
void coordinator_state::clear_queues() {
  if (ended_in_queues_ < options_.turn_closures_max || ended_in_queues_ < open_) return;
  ended_in_queues_ = 0;
  const auto clear = [](std::deque<closure_ptr>& queue) {
    std::erase_if(queue, [](const auto& each) { return each->ended(); });
  };
  queued_count_ = 0;
  for (auto& level : queued_) {
    clear(level);
    queued_count_ += level.size();
  }
  clear(stranded_);
  clear(suspects_);
  for (const auto& worker : roster_.all()) clear(worker->tagged);
}

void coordinator_state::fill(worker_entry& worker) {
  if (!worker.tagged.empty()) {
    const auto now = clock_.now();
    while (!worker.tagged.empty() && roster_.credit(worker) != 0 && !cancelling_) send_from(worker, worker.tagged, now);
  }
  flush(worker);
}

/// Sends the front of the queue to the worker, unless it has ended meanwhile or this worker can't run it.
bool coordinator_state::send_from(worker_entry& worker, std::deque<closure_ptr>& queue, time_point now) {
  auto what = std::move(queue.front());
  queue.pop_front();
  if (worker.tagged.empty()) worker.redirected = false;
  if (what->ended()) {
    ended_in_queues_ -= std::min<std::size_t>(ended_in_queues_, 1);
    return false;
  }
  if (!can_run(worker, what->function)) {
    redirect(what);
    return false;
  }
  if (auto problem = resource_problem(*what); !problem.ok()) {
    note_error(*what, problem);
    end(*what, std::move(problem));
    return false;
  }
  auto& sent = *what;
  sent.at = closure::stage::in_flight;
  sent.id = in_flight_.add(std::move(what), worker.index, ++worker.last_number);
  auto& order = worker.outgoing.emplace_back();
  order.id = sent.id;
  order.number = worker.last_number;
  // One whose time is over has as good as none left, not none at all.
  order.deadline_ns = std::max<duration>(sent.deadline - now, duration{1}).count();
  order.function = sent.function;
  order.arguments = sent.arguments;
  order.dependencies.reserve(sent.inputs.size());
  for (const auto& input : sent.inputs)
    order.dependencies.push_back({input.resource, input.producer ? input.producer->result() : value{}});
  roster_.sent(worker, worker.in_flight == 0 ? now : worker.busy_since);
  return true;
}

/// A worker with another binary does not have this function: another worker gets it, or one that is still to come.
void coordinator_state::redirect(const closure_ptr& what) {
  if (what->options.worker < 0) {
    if (auto* other = freest_for(what->function)) {
      other->tagged.push_back(what);
      other->redirected = true;
      return touch(*other);
    }
    if (!roster_.complete()) return stranded_.push_back(what);
  }
  status why{status_code::not_found,
             fmt::format("{} is on no worker that could run it: these are other binaries, which know only functions "
                         "that are registered by name; register it there with TROUPE_REGISTER, or start the workers "
                         "with the chief's binary",
                         to_string(what->function))};
  note_error(*what, why);
  end(*what, std::move(why));
}

/// Of the present workers that have the function, the one with the least to do, if it takes something now; nullptr if
/// there is none.
worker_entry* coordinator_state::freest_for(const function_id& function) {
  worker_entry* freest = nullptr;
  const auto load = [this](const worker_entry& worker) {
    return std::pair{roster_.credit(worker) == 0, worker.in_flight + worker.tagged.size()};
  };
  for (const auto& each : roster_.all())
    if (each->at == worker_entry::admission::admitted && can_run(*each, function) &&
        (freest == nullptr || load(*each) < load(*freest)))
      freest = each.get();
  return freest;
}

/// Why a per-worker value that the closure uses is on no worker.
status coordinator_state::resource_problem(const closure& what) const {
  if (unsendable_.empty()) return {};
  for (const auto& input : what.inputs)
    if (const auto found = unsendable_.find(input.resource); found != unsendable_.end())
      return found->second.wrap(
          fmt::format("a per-worker value that {} uses could not be sent to the workers", to_string(what.function)));
  return {};
}

/// What closures use goes before them.
void coordinator_state::flush(worker_entry& worker) {
  send_orders(worker, worker.outgoing_builds);
  send_orders(worker, worker.outgoing);
}

void coordinator_state::send_orders(worker_entry& worker, std::vector<closure_order>& outgoing) {
  if (outgoing.empty()) return;
  auto orders = std::exchange(outgoing, {});
  outgoing.reserve(orders.size());
  if (!is_encoded_between(self_->node(), worker.handle.node())) return send_message(worker, std::move(orders));
  try {
    send_message(worker, orders);
  } catch (...) {
    send_one_by_one(worker, std::move(orders));
  }
}

/// @throws what its encoding throws, if it is sealed
void coordinator_state::send_message(worker_entry& worker, std::vector<closure_order> orders) {
  const auto first = orders.front().number;
  const auto last = orders.back().number;
  wire<run_orders> message{{.orders = std::move(orders)}};
  if (is_encoded_between(self_->node(), worker.handle.node())) message.seal();
  self_->send(worker.handle, run_atom_v, worker.session, first, last, std::move(message));
}

/// Some closure of a batch can't be sent (its arguments are over a limit, or the user's code that encodes them throws):
/// that one fails, the others go.
void coordinator_state::send_one_by_one(worker_entry& worker, std::vector<closure_order> orders) {
  for (auto& order : orders) {
    const auto id = order.id;
    const auto builds = order.builds;
    try {
      send_alone(worker, std::move(order));
    } catch (...) {
      const auto why = status_of(std::current_exception());
      if (builds == 0)
        take_back_unsent(worker, id, why);
      else if (resources_.contains(builds))
        unsendable_.insert_or_assign(builds, why);
    }
  }
}

/// @throws what its encoding throws
void coordinator_state::send_alone(worker_entry& worker, closure_order order) {
  if (order.builds == 0)
    if (const auto* held = in_flight_.find(order.id))
      if (auto problem = resource_problem(*held->what); !problem.ok()) throw_status(std::move(problem));
  send_message(worker, {std::move(order)});
}

/// The worker has its place free again.
void coordinator_state::take_back_unsent(worker_entry& worker, closure_id id, const status& why) {
  if (in_flight_.find(id) == nullptr) return;
  const auto what = take_back(id);
  roster_.ended(worker, 1, clock_.now());
  if (what->ended()) return;
  auto unsent =
      why.wrap(fmt::format("{} could not be sent to /job:worker/task:{}", to_string(what->function), worker.index));
  note_error(*what, unsent);
  end(*what, std::move(unsent));
}

void coordinator_state::send_cancel(worker_entry& worker, std::vector<closure_id> closures,
                                    std::vector<resource_id> released, const status& why) {
  flush(worker);
  if (worker.at != worker_entry::admission::admitted) return;
  expect_end(closures);
  self_->send(worker.handle, cancel_atom_v, worker.session,
              wire<cancel_orders>{{std::move(closures), std::move(released), why}});
}

// --- workers --------------------------------------------------------------------------------------------------------

void coordinator_state::worker_up(const member_actor& door, const worker_actor& handle, member_identity who) {
  auto* found = roster_.find(who.task.index);
  if (found == nullptr || who.task.job != "worker") return;  // none of this cluster's specification
  auto& worker = *found;
  lose(worker, {status_code::unavailable, fmt::format("{} came back as a new process", to_string(who.task))});
  worker.door = door;
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
      [this, &worker, still_wanted](worker_desk_actor& desk) {
        const turn scope{*this};
        if (still_wanted()) admitted(worker, std::move(desk));
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

void coordinator_state::admitted(worker_entry& worker, worker_desk_actor desk) {
  roster_.admit(worker, clock_.now());
  worker.desk = std::move(desk);
  // It may have what the others lack; or it was the last that could have had it.
  const auto stranded = std::exchange(stranded_, {});
  for (auto what = stranded.rbegin(); what != stranded.rend(); ++what)
    if (!(*what)->ended()) enqueue(*what, true);
  for (const auto& [_, order] : resources_) worker.outgoing_builds.push_back(order);
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
  const auto door = worker.door;
  const auto handle = worker.handle;
  auto who = worker.who;
  lose(worker, why);
  worker_up(door, handle, std::move(who));
}

/// The worker does not do what it is told, though it lives: its process is asked to end. Where that is no process of
/// its own it can't, and the worker is taken in again as soon as it answers.
void coordinator_state::dismiss(worker_entry& worker, const status& why) {
  publish({.kind = event_kind::worker_dismissed, .task = worker.who.task, .count = worker.in_flight, .why = why});
  if (worker.door) self_->send(worker.door, dismiss_atom_v, wire<status>{why});
  readmit(worker, why);
}

}  // namespace troupe
