// Does to the processes of a launcher, and to the hosts that they run on, what a plan says, at its times.
//
// What a fault means is said at simulated_world, and holds here: a killed task stays down until `restart`, a host that
// is switched off until then, too; a fault that finds nothing to break (a kill of what is down, a thaw of what runs) is
// not done, and says why. Two things differ. A kill that no later fault of the plan mends is the launcher's to mend,
// who starts the task again as it does when it fails by itself. And the times are only as exact as the machine is idle.
#pragma once

#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/launch/host_network.hpp>
#include <troupe/runtime/launch/launcher.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::tools {

/// A fault whose time has come.
struct injection {
  planned_fault fault;
  std::chrono::steady_clock::time_point time;
  /// Why it was not done; empty: it was.
  std::string obstacle;
};

/// Not thread-safe.
class fault_injector {
 public:
  using clock = std::chrono::steady_clock;

  /// The plan was checked (plan_check.hpp). Without a network the tasks share this machine; with one the task that is
  /// the n-th of `tasks` runs on its n-th host. All of them outlive this.
  fault_injector(fault_plan plan, std::vector<task_id> tasks, launcher& job, host_network* network);

  /// The times of the plan count from here.
  void start(clock::time_point now);
  /// Does what is due. @throws what host_network's faults throw
  void apply_due(clock::time_point now);
  /// When the next one is due; nothing: none is left.
  std::optional<clock::time_point> next() const;

  const std::vector<injection>& history() const { return history_; }
  /// How many were not due until now.
  std::size_t left() const { return plan_.faults.size() - history_.size(); }

 private:
  void apply(const planned_fault& fault);
  void require_running(const task_id& task) const;
  void kill(const task_id& task, bool is_mended);
  void restart(const task_id& task);
  void freeze(const task_id& task);
  void thaw(const task_id& task);
  void lose(const std::string& from, const std::string& to);
  void slow(const std::string& from, const std::string& to, const link_slowness& by);
  /// Neither lost nor slow.
  void mend(const std::string& from, const std::string& to);
  void heal_everything();
  bool is_mended_later(const planned_fault& fault) const;
  const task_id& task_of(const std::string& host) const;
  int host_of(const std::string& host) const;

  fault_plan plan_;  ///< in the order of its times
  std::vector<task_id> tasks_;
  launcher& job_;
  host_network* network_;
  clock::time_point begin_;
  std::vector<injection> history_;
  std::map<task_id, pid_t> frozen_;
  std::set<task_id> down_;
  std::set<int> off_;
  std::set<std::pair<int, int>> lost_;  ///< from, to
  std::set<std::pair<int, int>> slow_;
};

}  // namespace troupe::tools
