// The chief's half of `kill_at_random_moments`: closures that count, in a way that shows what was lost or repeated.
//
// In each round a closure for each row of a variable, which is spread over all servers, adds 1 to its row. So after any
// faults each row tells by itself whether the promises were kept:
//
//   K-1 A row holds at least the number of closures that were acknowledged, as long as its server lives (no
//   acknowledged
//       assignment is lost).
//   K-2 A row holds at most the number of closures, and 1 more for each time that a worker was lost meanwhile (closures
//       run at least once; each operation of a run is applied at most once).
//   K-3 A server that comes back without its rows says so: reading them fails with `unavailable`, never with zeros.
//   K-4 Every closure, join and read ends within its limit, and with no other error than `unavailable` and what follows
//       from it.
#pragma once

#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <cstdint>
#include <vector>

namespace troupe {

class counting_program {
 public:
  static constexpr int row_count = 600;

  explicit counting_program(cluster& here);

  /// One round: all members are there, closures run while the test does its worst, all rows are checked.
  void run(int round);

 private:
  /// What a row can hold.
  struct bounds {
    std::int32_t least = 0;
    std::int32_t most = 0;
  };
  struct outcome {
    int acknowledged = 0;
    std::int32_t worker_losses = 0;
    std::size_t shards_lost = 0;
  };

  void wait_for_everybody();
  void count(outcome& so_far);
  void check_rows(outcome& so_far);
  /// The rows of a shard; nothing when its server came back without them.
  bool read(std::size_t shard, tensor& content);
  void check(const variable_shard& part, const tensor& content) const;
  void forget(const variable_shard& part);
  void restore(const std::vector<tensor>& parts);

  cluster& cluster_;
  parameter_server_strategy strategy_;
  cluster_coordinator coordinator_;
  event_watch events_;
  sharded_variable counts_;
  std::vector<bounds> rows_ = std::vector<bounds>(row_count);
};

}  // namespace troupe
