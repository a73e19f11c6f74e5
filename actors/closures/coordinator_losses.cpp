// The coordinator's losses: what a worker held goes to others, once no server takes anything from it any more.
#include <troupe/actors/closures/coordinator.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

void coordinator_state::lose(worker_entry& worker, const status& why) {
  if (worker.at == worker_entry::admission::gone) return;
  const auto could_write = worker.at == worker_entry::admission::admitted;
  self_->demonitor(worker.handle.address());
  requests_.lost(worker.handle.address(), why);
  if (worker.desk) requests_.lost(worker.desk.address(), why);
  // A worker that is frozen, not dead, learns on waking that its session is over.
  self_->send(worker.handle, dismiss_atom_v, worker.session);
  roster_.dismiss(worker);
  sessions_.erase(worker.session);
  outcomes_->end(worker.session, why);
  give_back_redirected(worker);
  const auto lost = std::make_shared<loss>(
      loss{.task = worker.who.task, .why = why, .adrift = in_flight_.set_adrift(worker.index), .untold = 0});
  if (could_write) tell_servers(lost);
}

// --- servers --------------------------------------------------------------------------------------------------------

/// The worker may be alive where the chief does not reach it. Nothing that it held starts again before no server takes
/// its operations any more (C-3), or has been lost itself, or does not answer within the limit.
void coordinator_state::tell_servers(const std::shared_ptr<loss>& lost) {
  lost->untold = servers_.size();
  if (servers_.empty()) return give_back(*lost);
  const auto one_less = [this, lost] {
    if (--lost->untold != 0) return;
    const turn scope{*this};
    give_back(*lost);
  };
  const auto what = fmt::format("telling a parameter server that {} is lost", to_string(lost->task));
  for (const auto& [_, server] : servers_)
    requests_.ask(
        server.handle, options_.fence_limit, what, [one_less](caf::ok_atom) { one_less(); },
        [one_less](const status&) { one_less(); }, dismiss_atom_v, server.incarnation, fence());
}

/// Which sessions go on.
wire<session_fence> coordinator_state::fence() const {
  session_fence result{.horizon = last_session_, .live = {}};
  for (const auto& [session, _] : sessions_) result.live.push_back(session);
  return result;
}

/// It may be one that the chief had lost and that has not ended: it has missed what was told meanwhile.
void coordinator_state::server_up(const parameter_server_actor& handle, const member_identity& who) {
  servers_.insert_or_assign(who.task.index, server_entry{handle, who.incarnation});
  requests_.ask(
      handle, options_.fence_limit, fmt::format("telling {} which workers are in", to_string(who.task)),
      [](caf::ok_atom) {}, [](const status&) {}, dismiss_atom_v, std::uint64_t{who.incarnation}, fence());
}

void coordinator_state::server_down(const member_record& record) {
  const auto found = servers_.find(record.task.index);
  if (found == servers_.end() || found->second.incarnation != record.incarnation) return;
  const auto address = found->second.handle.address();
  servers_.erase(found);
  requests_.lost(address, record.why);
}

// --- what was lost --------------------------------------------------------------------------------------------------

/// What the worker held goes back to the queue, to its front, in order: it has waited longest (C-3).
void coordinator_state::give_back(const loss& lost) {
  std::uint64_t requeued = 0;
  // One of the first may be what has ended the worker.
  constexpr std::size_t named_max = 3;
  std::deque<function_id> named;
  for (auto id = lost.adrift.rbegin(); id != lost.adrift.rend(); ++id) {
    const auto what = take_back(*id);
    if (!give_back(what, lost.why)) continue;
    ++requeued;
    std::erase(named, what->function);
    named.push_front(what->function);
    if (named.size() > named_max) named.pop_back();
  }
  if (requeued == 0) return;
  event told{.kind = event_kind::closures_requeued, .task = lost.task, .count = requeued, .why = lost.why};
  for (const auto& function : named) told.functions.push_back(to_string(function));
  publish(std::move(told));
}

/// What waited for this worker only because others could not run it.
void coordinator_state::give_back_redirected(worker_entry& worker) {
  if (!std::exchange(worker.redirected, false)) return;
  std::deque<closure_ptr> bound;
  for (auto waiting = worker.tagged.rbegin(); waiting != worker.tagged.rend(); ++waiting) {
    if ((*waiting)->options.worker >= 0)
      bound.push_front(*waiting);
    else if (!(*waiting)->ended())
      enqueue(*waiting, true);
  }
  worker.tagged = std::move(bound);
}

/// A closure that was lost with its worker; true if it waits for another one.
bool coordinator_state::give_back(const closure_ptr& what, const status& why) {
  if (what->ended()) return false;
  if (cancelling_) {
    end(*what, why.wrap(status_code::cancelled, "cancelled: its worker was lost while an error was being raised"));
    return false;
  }
  if (++what->lost_workers < options_.lost_workers_max) {
    enqueue(what, true);
    return true;
  }
  auto fatal = why.wrap(
      status_code::aborted,
      fmt::format("{} was lost with its worker {} times; it {} what ends them", to_string(what->function),
                  what->lost_workers, is_suspect(*what) ? "ran alone at last, so that it is most likely" : "may be"));
  note_error(*what, fatal);
  end(*what, std::move(fatal));
  return false;
}

}  // namespace troupe
