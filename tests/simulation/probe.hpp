// What the closures of a test tell about themselves. Closures have no captures, so there is one such record a process;
// a simulation has one thread, so it needs no lock.
#pragma once

#include "support/refusal.hpp"

#include <troupe/actors/closures/current_worker.hpp>
#include <troupe/actors/closures/worker.hpp>
#include <troupe/runtime/simulation.hpp>

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

struct observations {
  /// By the number that a test gives its closures.
  std::map<int, int> started;
  std::map<int, int> finished;
  /// Which workers run a number now.
  std::map<int, std::multiset<int>> running;
  /// Workers whose closures the chief may give to others although they could still run.
  enum class absence { frozen, unreachable, silenced };
  std::set<std::pair<absence, int>> away;
  /// How often a closure began while another worker that is not away was running it (C-3).
  int overlaps = 0;
  /// In the order of their beginning.
  std::vector<int> order;

  static observations& here() {
    static observations one;
    return one;
  }

  bool is_away(int worker) const {
    return away.contains({absence::frozen, worker}) || away.contains({absence::unreachable, worker}) ||
           away.contains({absence::silenced, worker});
  }

  bool runs(int number) const {
    const auto found = running.find(number);
    if (found == running.end()) return false;
    for (const auto worker : found->second)
      if (!is_away(worker)) return true;
    return false;
  }

  std::size_t executing() const {
    std::size_t count = 0;
    for (const auto& [number, _] : running) count += runs(number) ? 1 : 0;
    return count;
  }
};

/// Declared at the beginning of a closure.
class execution {
 public:
  explicit execution(int number) : number_(number), worker_(current_worker_index()) {
    auto& all = observations::here();
    if (!all.is_away(worker_) && all.runs(number)) ++all.overlaps;
    ++all.started[number];
    all.order.push_back(number);
    all.running[number].insert(worker_);
  }
  ~execution() {
    auto& holders = observations::here().running[number_];
    holders.erase(holders.find(worker_));
  }
  execution(const execution&) = delete;

  int finish() const {
    ++observations::here().finished[number_];
    return number_;
  }

 private:
  int number_;
  int worker_;
};

/// A fixture: each test begins with an empty record.
struct observed {
  observed() { observations::here() = {}; }
  observations& seen = observations::here();
};

inline const task_id chief{"chief", 0};
inline task_id worker_task(int index) { return {"worker", index}; }
inline task_id server_task(int index) { return {"ps", index}; }

inline void freeze_worker(simulation& cluster, int index) {
  observations::here().away.emplace(observations::absence::frozen, index);
  cluster.freeze(worker_task(index));
}

inline void thaw_worker(simulation& cluster, int index) {
  cluster.thaw(worker_task(index));
  // On waking it finds out what it has missed. Its connections may have been replaced meanwhile without its knowledge:
  // then it goes on for the milliseconds that its new admission takes.
  cluster.advance(std::chrono::milliseconds{2});
  observations::here().away.erase({observations::absence::frozen, index});
}

inline void kill_worker(simulation& cluster, int index) {
  cluster.kill(worker_task(index));
  observations::here().away.erase({observations::absence::frozen, index});
}

inline void switch_off_worker(simulation& cluster, int index) {
  cluster.switch_off(worker_task(index));
  observations::here().away.erase({observations::absence::frozen, index});
}

inline void cut_worker(simulation& cluster, int index) {
  observations::here().away.emplace(observations::absence::unreachable, index);
  cluster.cut(chief, worker_task(index));
}

inline void heal_worker(simulation& cluster, int index) {
  cluster.heal(chief, worker_task(index));
  // What the chief said meanwhile is under way.
  cluster.advance(std::chrono::milliseconds{1});
  observations::here().away.erase({observations::absence::unreachable, index});
}

/// The link between the chief and the worker breaks; for a while only one of them may have noticed.
inline void break_worker(simulation& cluster, int index) {
  const auto [mark, is_new] = observations::here().away.emplace(observations::absence::unreachable, index);
  cluster.break_link(chief, worker_task(index));
  cluster.advance(std::chrono::milliseconds{1});
  if (is_new) observations::here().away.erase(mark);
}

/// The link between the chief and the worker carries nothing any more. The chief notices after a while and gives the
/// worker's closures to others; the worker hears of that when it is admitted again: see `end_silence`.
inline void silence_worker(simulation& cluster, int index) {
  observations::here().away.emplace(observations::absence::silenced, index);
  cluster.silence_link(chief, worker_task(index));
}
inline void end_silence(int index) { observations::here().away.erase({observations::absence::silenced, index}); }

/// A cluster whose members are all there.
struct ready_cluster : simulation {
  explicit ready_cluster(const simulation_options& options) : simulation(options) { run_until_ready(); }
};

/// Schedules a closure that takes so long and returns its number.
inline remote_value<int> schedule_work(simulation& cluster, int number, duration takes, schedule_options options = {}) {
  return cluster.schedule(
      options,
      [](int which, std::int64_t nanoseconds) {
        const execution here{which};
        sleep_for(duration{nanoseconds});
        return here.finish();
      },
      number, takes.count());
}

inline bool ended(const remote_value_base& x) { return x.state() != remote_value_state::not_ready; }

/// How a remote value ended; a failed precondition if it has not.
inline status end_of(const remote_value_base& x) {
  return ended(x) ? x.scheduled()->end_status() : status{status_code::failed_precondition, "it has not ended"};
}

/// Whether no epoch of the membership's events is below an earlier one (M-1).
inline bool epochs_never_decrease(const simulation& cluster) {
  std::uint64_t last = 0;
  for (const auto& [_, what] : cluster.occurrences()) {
    if (what.kind != event_kind::member_joined && what.kind != event_kind::member_lost) continue;
    if (what.epoch < last) return false;
    last = what.epoch;
  }
  return true;
}

}  // namespace troupe
