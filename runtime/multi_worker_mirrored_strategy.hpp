// Replicas in step over several processes: each process runs the same program with its own replicas, and collectives
// keep all of them together.
//
//   int main(int argc, char** argv) {
//     return troupe::run_group(argc, argv, [](troupe::process_group& group) {
//       troupe::multi_worker_mirrored_strategy strategy{group};
//       ...
//     });
//   }
//
// All processes call the same operations in the same order. Variables begin with the chief's initial values. Everything
// of `strategy` holds, with these differences: local results and merge_call are those of this process's replicas, while
// reduce, gather, all_reduce, all_gather and aggregated assignments go over all replicas of all processes. When a
// process is lost, what is going on ends on all others with unavailable_error that names it; the strategy can't be used
// any more: call group.rebuild() and make a new one. Semantics: examples/reference/semantics.md 1.3, 5.2.2.
#pragma once

#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/process_group.hpp>

#include <string>
#include <vector>

namespace troupe {

class multi_worker_mirrored_strategy : public strategy {
 public:
  /// One replica on each of this process's devices; all processes name as many. The group must outlive all handles.
  /// @throws invalid_argument_error as mirrored_strategy, or when processes name different numbers of devices; what
  /// connecting the processes throws.
  explicit multi_worker_mirrored_strategy(process_group& group, const std::vector<std::string>& devices = {"CPU:0"},
                                          const replica_strategy_options& options = {});
};

}  // namespace troupe
