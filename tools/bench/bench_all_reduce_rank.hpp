// The processes that the all_reduce cases among processes consist of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::tools {

struct rank_to_start {
  /// Of this machine's groups.
  std::string group;
  int rank = 0;
  int ranks = 0;
  /// That are reduced.
  std::int64_t bytes = 0;
  /// As between hosts, with the credentials of its environment; else over shared memory.
  bool over_tcp = false;
};

/// The arguments of such a process.
std::vector<std::string> all_reduce_rank_arguments(const rank_to_start& which);

/// Works as one of them until rank 0 has enough, or is gone. `what`: what follows --all-reduce-rank. Returns the exit
/// code.
int serve_all_reduce_rank(const std::vector<std::string>& what);

}  // namespace troupe::tools
