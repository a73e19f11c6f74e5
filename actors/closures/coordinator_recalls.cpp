// The coordinator's recalls: what waits for a worker that is in a closure goes to one that idles.
//
//   each recall_interval while workers hold closures and none is queued:
//     somebody idles, and a worker has held closures for a whole interval that may not have begun
//       --recall--> its desk, which answers whatever the worker does --what has not begun--> the queue's front
//
// Orders whose data is under way are given back only by a worker that is in a closure. Otherwise, large data would go
// to and fro between workers that idle, and none of its closures would ever begin.
//
// A worker that was found in a closure gets nothing more until it says that it hears again. A recall that is not
// answered leaves open what the worker will begin: only a new session makes good for that.
#include <troupe/actors/closures/coordinator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

/// Nothing changes but in turns: one that leaves closures with workers has them looked at after a while.
void coordinator_state::watch_workers() {
  if (workers_watched_ || queued_count_ != 0 || in_flight_.count() < 2 || roster_.admitted() < 2) return;
  workers_watched_ = true;
  clock_.after(options_.recall_interval, [this] {
    workers_watched_ = false;
    recall_some();
  });
}

/// Outside of turns: it only asks.
void coordinator_state::recall_some() {
  if (cancelling_ || queued_count_ != 0) return;
  const auto& workers = roster_.all();
  if (std::none_of(workers.begin(), workers.end(), [](const auto& worker) { return worker->idles(); })) return;
  auto some_are_new = false;
  for (const auto& worker : workers) {
    if (!worker->desk || worker->in_flight < 2) continue;
    if (!in_flight_.holds(worker->index, worker->recall, worker->last_number)) continue;
    const auto is_due = worker->recall_from <= clock_.now();
    if (is_due && in_flight_.holds(worker->index, worker->recall, worker->held_since_before)) recall(*worker);
    worker->held_since_before = worker->last_number;
    some_are_new = some_are_new || worker->recall != worker->last_number;
  }
  if (some_are_new) watch_workers();
}

void coordinator_state::recall(worker_entry& worker) {
  const auto number = worker.recall = worker.last_number;
  const auto session = worker.session;
  requests_.ask(
      worker.desk, options_.recall_limit, fmt::format("recalling closures from /job:worker/task:{}", worker.index),
      [this, session, number](wire<recalled_orders>& answer) {
        const turn scope{*this};
        auto* const asked = admitted_in(session);
        if (asked == nullptr) return;
        if (const auto problem = answer.open(); !problem.ok()) return readmit(*asked, problem);
        take_recalled(*asked, *answer, number);
      },
      [this, session](const status& why) {
        const turn scope{*this};
        if (auto* const asked = admitted_in(session)) readmit(*asked, why);
      },
      recall_atom_v, session, number);
}

void coordinator_state::take_recalled(worker_entry& worker, const recalled_orders& told, std::uint64_t asked) {
  // A worker that hears keeps what is under way. It is looked at again, each time after twice as long: what has come
  // waits no longer than it was under way.
  const auto recall = worker.recall = told.busy ? asked : std::min(asked, told.taken);
  worker.recall_pause = recall < asked ? std::max(2 * worker.recall_pause, options_.recall_interval) : duration{};
  worker.recall_from = clock_.now() + worker.recall_pause;
  std::vector<closure_id> given;
  for (const auto id : told.closures)
    if (const auto* held = in_flight_.find(id); held != nullptr && held->worker == worker.index) given.push_back(id);
  for (const auto id : in_flight_.held_by(worker.index))
    if (const auto number = in_flight_.find(id)->number; number > told.taken && number <= recall) given.push_back(id);
  std::uint32_t count = 0;
  // From the last, so that they stand in the queue in their order (a worker that names one twice gives it once).
  for (auto id = given.rbegin(); id != given.rend(); ++id) {
    if (in_flight_.find(*id) == nullptr) continue;
    ++count;
    give_back(take_back(*id));
  }
  using finding = worker_roster::finding;
  roster_.gave_back(worker, count, recall,
                    told.busy               ? finding::in_a_closure
                    : told.closures.empty() ? finding::able
                                            : finding::full);
}

/// One that no worker has begun.
void coordinator_state::give_back(const closure_ptr& recalled) {
  if (recalled->ended()) return;
  if (!cancelling_) return enqueue(recalled, true);
  end(*recalled, {status_code::cancelled, "cancelled before it began, because another closure failed"});
}

}  // namespace troupe
