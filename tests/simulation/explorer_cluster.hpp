// A simulated cluster whose workers, links and servers fail as an explorer draws it.
#pragma once

#include "explorer_seeds.hpp"
#include "probe.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace troupe {

class cluster_course : public drawing {
 public:
  /// In a rough course servers fail, too, and closures.
  cluster_course(std::uint64_t seed, bool is_rough) : drawing(seed), rough(is_rough), cluster(options(seed)) {}

  void show_trace() const;

  const bool rough;
  int workers = 0;
  int servers = 0;
  simulation cluster;

 protected:
  task_id any_server() { return server_task(draw(servers)); }

  void fail_something();
  /// Everything runs again, and everybody reaches everybody.
  void heal_everything();
  /// Workers that were silent and have been admitted again count as there.
  void see_who_is_back();

 private:
  simulation_options options(std::uint64_t seed);
  void fail_worker(int index, int how);
  void fail_server();
  void silence(int worker);
  void cut(const task_id& from, const task_id& to);
  void heal(const std::pair<task_id, task_id>& link);

  /// A chief or server, and who can't reach it.
  std::set<std::pair<task_id, task_id>> cuts_;
  /// Since when workers are silent to the chief.
  std::map<int, duration> silent_;
};

inline simulation_options cluster_course::options(std::uint64_t seed) {
  simulation_options result{.seed = seed, .size = {.workers = 1 + draw(4), .servers = 1 + draw(2)}};
  result.cluster.coordinator.windows.slots = static_cast<std::uint32_t>(1 + draw(8));
  // Closures should end by their own fault only.
  result.cluster.coordinator.lost_workers_max = 1'000'000;
  result.cluster.coordinator.inbox.bulk_limit = std::chrono::seconds{5};
  workers = result.size.workers;
  servers = result.size.servers;
  return result;
}

inline void cluster_course::fail_something() {
  see_who_is_back();
  const auto index = draw(workers);
  const auto how = draw(rough ? 14 : 11);
  how < 11 ? fail_worker(index, how) : fail_server();
}

inline void cluster_course::fail_worker(int index, int how) {
  const auto worker = worker_task(index);
  const auto runs = cluster.running(worker);
  const auto frozen = runs && cluster.frozen(worker);
  switch (how) {
    case 0:
      if (runs) kill_worker(cluster, index);
      return;
    case 1:
    case 2:
      if (!runs) cluster.restart(worker);
      return;
    case 3:
      if (runs && !frozen) freeze_worker(cluster, index);
      return;
    case 4:
      if (frozen) thaw_worker(cluster, index);
      return;
    case 5:
      return cut(draw(2) == 0 ? chief : any_server(), worker);
    case 6:
      if (!cuts_.empty()) heal(*cuts_.begin());
      return;
    case 7:
      return draw(2) == 0 ? cluster.break_link(any_server(), worker) : break_worker(cluster, index);
    case 8:
      if (runs) switch_off_worker(cluster, index);
      return;
    case 9:
      if (!runs) cluster.occupy(worker);
      return;
    case 10:
      return draw(2) == 0 ? cluster.silence_link(any_server(), worker) : silence(index);
  }
}

inline void cluster_course::fail_server() {
  const auto server = any_server();
  const auto runs = cluster.running(server);
  const auto frozen = runs && cluster.frozen(server);
  switch (draw(11)) {
    case 0:
      if (runs) cluster.kill(server);
      return;
    case 1:
    case 2:
    case 3:
      if (!runs) cluster.restart(server);
      return;
    case 4:
      if (runs && !frozen) cluster.freeze(server);
      return;
    case 5:
      if (frozen) cluster.thaw(server);
      return;
    case 6:
      if (runs) cluster.switch_off(server);
      return;
    case 7:
      return cut(chief, server);
    case 8:
      return cluster.break_link(chief, server);
    case 9:
      if (!runs) cluster.occupy(server);
      return;
    case 10:
      return cluster.silence_link(chief, server);
  }
}

inline void cluster_course::silence(int worker) {
  silent_[worker] = cluster.now();
  silence_worker(cluster, worker);
}

inline void cluster_course::see_who_is_back() {
  constexpr auto admission = std::chrono::milliseconds{2};
  for (const auto& [at, what] : cluster.occurrences()) {
    if (what.kind != event_kind::member_joined || what.task.job != "worker" || at + admission > cluster.now()) continue;
    const auto found = silent_.find(what.task.index);
    if (found == silent_.end() || found->second >= at) continue;
    end_silence(what.task.index);
    silent_.erase(found);
  }
}

inline void cluster_course::cut(const task_id& from, const task_id& to) {
  if (!cuts_.emplace(from, to).second) return;
  from == chief&& to.job == "worker" ? cut_worker(cluster, to.index) : cluster.cut(from, to);
}

inline void cluster_course::heal(const std::pair<task_id, task_id>& link) {
  const auto [from, to] = link;
  cuts_.erase(link);
  from == chief&& to.job == "worker" ? heal_worker(cluster, to.index) : cluster.heal(from, to);
}

inline void cluster_course::heal_everything() {
  while (!cuts_.empty()) heal(*cuts_.begin());
  for (const auto& task : cluster.tasks())
    if (cluster.running(task) && cluster.frozen(task))
      task.job == "worker" ? thaw_worker(cluster, task.index) : cluster.thaw(task);
  cluster.advance(std::chrono::seconds{5});
  for (const auto& task : cluster.tasks())
    if (!cluster.running(task)) cluster.restart(task);
  see_who_is_back();
}

inline void cluster_course::show_trace() const {
  for (const auto& line : cluster.trace()) BOOST_TEST_MESSAGE(line);
}

}  // namespace troupe
