// The coordinator's recalls: what waits for a worker that is in a closure goes to one that idles.
//
//   each recall_interval while workers hold closures and none is queued:
//     somebody idles, and a worker has held closures for a whole interval that may not have begun
//       --recall--> its desk, which answers whatever the worker does --what has not begun--> the queue's front
//
// A closure whose data is on its way to its worker stays there until the data has come: so data that moves at all
// arrives. And each time that a closure was asked back, it is left alone for twice as long: it begins somewhere,
// however often workers become busy before its data is there.
//
// A worker that was found in a closure gets nothing more until it says that it hears again. A recall that is not
// answered leaves open what the worker will begin: only a new session makes good for that.
#include <troupe/actors/closures/coordinator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// What moves is left alone for up to 4,096 intervals, what is under way for up to 64.
constexpr std::uint8_t given_doublings_max = 12;
constexpr std::uint8_t kept_doublings_max = 6;

}  // namespace

/// Nothing changes but in turns: one that leaves closures with workers has them looked at after a while.
void coordinator_state::watch_workers() {
  if (workers_watched_ || queued_count_ != 0 || in_flight_.count() == 0 || roster_.admitted() < 2) return;
  workers_watched_ = true;
  clock_.after(options_.recall_interval, [this] {
    workers_watched_ = false;
    recall_some();
  });
}

/// Outside of turns: it only asks.
void coordinator_state::recall_some() {
  if (cancelling_ || queued_count_ != 0) return;
  std::vector<const worker_entry*> idle;
  for (const auto& worker : roster_.all())
    if (worker->idles()) idle.push_back(worker.get());
  if (idle.empty()) return;
  auto some_may_move = false;
  for (const auto& worker : roster_.all())
    if (worker->desk && recall_from(*worker, idle)) some_may_move = true;
  if (some_may_move) watch_workers();
}

/// Asks for what may move from this worker to one of these now. Whether something may, now or later.
bool coordinator_state::recall_from(worker_entry& worker, const std::vector<const worker_entry*>& idle) {
  const auto can_move = [&](const closure& held) {
    return held.options.worker < 0 && !held.ended() && held.recall_from != never &&
           std::any_of(idle.begin(), idle.end(), [&](const auto* other) { return can_run(*other, held.function); });
  };
  const auto held_before = std::exchange(worker.held_since_before, worker.last_number);
  auto some_may_move = false;
  std::vector<closure_id> wanted;
  for (const auto id : in_flight_.held_by(worker.index)) {
    const auto& held = *in_flight_.find(id);
    if (!can_move(*held.what)) continue;
    some_may_move = true;
    if (held.number <= held_before && held.what->recall_from <= clock_.now()) wanted.push_back(id);
  }
  if (!wanted.empty()) recall(worker, wanted);
  return some_may_move;
}

void coordinator_state::recall(worker_entry& worker, const std::vector<closure_id>& wanted) {
  for (const auto id : wanted) in_flight_.find(id)->what->recall_from = never;
  ask_back(
      worker, wanted, false, [](worker_entry&) {},
      [this](worker_entry& asked, const status& why) { readmit(asked, why); });
}

/// What was cancelled and has not begun needs no end from a worker that does not hear. What has begun did not react.
void coordinator_state::recall_cancelled(worker_entry& worker, const std::vector<closure_id>& cancelled) {
  ask_back(
      worker, cancelled, true,
      [this, cancelled](worker_entry& asked) {
        std::vector<closure_id> kept;
        for (const auto id : cancelled) {
          const auto* held = in_flight_.find(id);
          if (held == nullptr || held->worker != asked.index) continue;
          if (held->what->recall_from == never) return dismiss(asked, did_not_end(asked, *held->what));
          kept.push_back(id);
        }
        // The worker hears, and so of their cancellation.
        expect_end(kept);
      },
      [this](worker_entry& asked, const status& why) { dismiss(asked, why); });
}

/// Asks the worker's desk for closures that it holds, in the order of their numbers. What it gives back goes to the
/// queue's front, or is over.
void coordinator_state::ask_back(worker_entry& worker, const std::vector<closure_id>& wanted, bool cancelled,
                                 std::function<void(worker_entry&)> then,
                                 std::function<void(worker_entry&, const status&)> otherwise) {
  if (!worker.desk) return otherwise(worker, {status_code::unavailable, "its process has not said who hears for it"});
  const auto serial = ++worker.recalls;
  order_recall recall{.serial = serial, .numbers = {}, .cancelled = cancelled};
  for (const auto id : wanted) recall.numbers.push_back(in_flight_.find(id)->number);
  const auto session = worker.session;
  requests_.ask(
      worker.desk, options_.recall_limit, fmt::format("recalling closures from /job:worker/task:{}", worker.index),
      [this, session, serial, wanted, then, otherwise](wire<recalled_orders>& answer) {
        const turn scope{*this};
        auto* const asked = admitted_in(session);
        if (asked == nullptr) return;
        if (const auto problem = answer.open(); !problem.ok()) return otherwise(*asked, problem);
        take_recalled(*asked, wanted, *answer, serial);
        then(*asked);
      },
      [this, session, otherwise](const status& why) {
        const turn scope{*this};
        if (auto* const asked = admitted_in(session)) otherwise(*asked, why);
      },
      recall_atom_v, session, wire<order_recall>{std::move(recall)});
}

void coordinator_state::take_recalled(worker_entry& worker, const std::vector<closure_id>& wanted,
                                      const recalled_orders& told, std::uint64_t serial) {
  std::uint32_t count = 0;
  // From the last, so that they stand in the queue in their order.
  for (auto id = wanted.rbegin(); id != wanted.rend(); ++id) {
    const auto* held = in_flight_.find(*id);
    if (held == nullptr || held->worker != worker.index) continue;
    const auto is_in = [&](const auto& list) { return std::binary_search(list.begin(), list.end(), held->number); };
    if (is_in(told.given)) {
      ++count;
      const auto what = take_back(*id);
      what->recall_from = next_recall(*what, given_doublings_max);
      give_back(what);
    } else {
      held->what->recall_from = is_in(told.kept) ? next_recall(*held->what, kept_doublings_max) : never;
    }
  }
  using finding = worker_roster::finding;
  roster_.gave_back(worker, count, serial,
                    told.busy            ? finding::in_a_closure
                    : told.given.empty() ? finding::able
                                         : finding::full);
}

/// After twice as long as the last time.
time_point coordinator_state::next_recall(closure& asked, std::uint8_t doublings_max) const {
  if (asked.recalls < doublings_max) ++asked.recalls;
  return clock_.now() + options_.recall_interval * (1 << asked.recalls);
}

/// One that no worker has begun.
void coordinator_state::give_back(const closure_ptr& recalled) {
  if (recalled->ended()) return;
  if (!cancelling_) return enqueue(recalled, true);
  end(*recalled, {status_code::cancelled, "cancelled before it began, because another closure failed"});
}

}  // namespace troupe
