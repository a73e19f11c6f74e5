// Closures that may be what ends their workers: each of them runs alone.
//
// Problem: a worker that ends takes along all that it holds, and the chief does not see which closure has ended it. If
// these went on together, they would be lost together again and again, and an innocent one would fail as soon as the
// guilty one. Solution: what was lost with `suspected_after` workers is a suspect. It waits for a worker that is set
// apart: that gets nothing more, and when it has ended what it holds, it gets one suspect. So the innocent end, and the
// guilty one is lost alone until it fails.
//
// A suspect that waits for other closures lets others run beside it, as it does elsewhere: one of them may be what it
// waits for. Closures that only one worker may run are no suspects: nobody else could run what waits behind them.
#include <troupe/actors/closures/coordinator.hpp>

#include <algorithm>
#include <tuple>

namespace troupe {

bool coordinator_state::is_suspect(const closure& lost) const {
  return lost.options.worker < 0 && lost.lost_workers >= options_.suspected_after;
}

void coordinator_state::send_suspects() {
  if ((suspects_.empty() && set_apart_.empty()) || cancelling_) return;
  std::erase_if(set_apart_, [this](auto* worker) { return !keep_apart(*worker); });
  // Half of the workers go on with everything else.
  const auto set_apart_max = std::max<std::size_t>(roster_.admitted() / 2, 1);
  while (set_apart_.size() < set_apart_max && !suspects_.empty()) {
    auto* const chosen = freest_for_suspects();
    if (chosen == nullptr) return;
    chosen->set_apart = true;
    if (keep_apart(*chosen)) set_apart_.push_back(chosen);
  }
}

/// Sends the worker the next suspect if it has nothing to do. False: it is not set apart any more.
bool coordinator_state::keep_apart(worker_entry& worker) {
  if (!worker.set_apart) return false;  // it was lost
  if (worker.suspect != 0 && in_flight_.find(worker.suspect) != nullptr) return true;
  worker.suspect = 0;
  while (bring_suspect_forward(worker)) {
    if (worker.in_flight != 0) return true;
    if (!send_from(worker, suspects_, clock_.now())) continue;
    worker.suspect = worker.outgoing.back().id;
    flush(worker);
    return true;
  }
  worker.set_apart = false;
  roster_.offer(worker);
  touch(worker);
  return false;
}

/// The first suspect that this worker can run is the first of all then. False: there is none.
bool coordinator_state::bring_suspect_forward(const worker_entry& worker) {
  const auto found = std::find_if(suspects_.begin(), suspects_.end(),
                                  [&](const auto& each) { return each->ended() || can_run(worker, each->function); });
  if (found != suspects_.end()) std::rotate(suspects_.begin(), found, found + 1);
  return found != suspects_.end();
}

/// The one that has least to do until it can begin with a suspect.
worker_entry* coordinator_state::freest_for_suspects() {
  worker_entry* freest = nullptr;
  const auto load = [](const worker_entry& worker) { return std::tuple{worker.is_deaf(), worker.in_flight}; };
  for (const auto& each : roster_.all())
    if (each->at == worker_entry::admission::admitted && !each->set_apart && bring_suspect_forward(*each) &&
        (freest == nullptr || load(*each) < load(*freest)))
      freest = each.get();
  return freest;
}

}  // namespace troupe
