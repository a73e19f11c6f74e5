// Who waits for whom in a cluster: why a job stands still.
//
//   fmt::print("{}", cluster.why().to_string());      // the same as `troupe why ADDRESS`
//
//   /job:chief/task:0, process 812 on host-a
//     thread 812 (trainer) has waited for 12300 ms for the value of step at train.cpp:42
//       -> closure 0.1 on /job:worker/task:1 (step), which waits, too
//   /job:worker/task:1, process 815 on host-b
//     closure 0.1 on /job:worker/task:1 (step) has waited for 12200 ms for a troupe::mutex, held by step for ...
//       -> closure 1.1 on /job:worker/task:1 (step), which waits, too   (cycle 1)
//
// Nodes are fibers and threads that wait; an edge leads to the one that has to go on first, where that is known: the
// holder of a lock, the closure whose value is wanted. What waits in a cycle never goes on by itself; it is marked, and
// listed once more at the end. Processes that tell nothing (stopped, cut off, busy in every thread) are named, too.
//
// A snapshot of each process, not one of all: a wait that begins or ends meanwhile may be missing, and a cycle counts
// only if its waits have lasted.
#pragma once

#include <troupe/actors/messages/messages.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class wait_graph {
 public:
  /// A wait, by its places in `waits().processes` and `waits`.
  struct node {
    std::size_t process = 0;
    std::size_t wait = 0;
    auto operator<=>(const node&) const = default;
  };

  explicit wait_graph(cluster_waits told);

  const cluster_waits& waits() const { return told_; }
  const open_wait& at(const node& which) const { return told_.processes[which.process].waits[which.wait]; }
  /// Who has to go on before this one can, if that one waits, too.
  std::optional<node> next(const node& which) const;
  /// Each from its first node on: each waits for the next, and the last for the first.
  const std::vector<std::vector<node>>& cycles() const { return cycles_; }

  /// For people: one paragraph for each process, then the closures that have not ended, then the cycles.
  std::string to_string() const;
  /// For programs: {"processes": [{"task", "host", "process", "silent", "more", "waits": [{"who", "what", "time_ms",
  /// "next": {"process", "wait"}, "cycle"}]}], "outstanding", "cycles": [[{"process", "wait"}]]}; what is not there is
  /// left out.
  std::string to_json() const;

 private:
  void find_cycles();
  std::optional<std::size_t> cycle_of(const node& which) const;
  std::string describe_next(const node& which) const;
  std::string describe_cycles() const;

  cluster_waits told_;
  std::vector<std::vector<node>> cycles_;
};

}  // namespace troupe
