// The processes that the all_reduce cases among processes consist of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::tools {

/// The arguments of such a process.
std::vector<std::string> all_reduce_rank_arguments(const std::string& group, int rank, int ranks, std::int64_t bytes);

/// Works as one of them until rank 0 has enough, or is gone. `what`: what follows --all-reduce-rank. Returns the exit
/// code.
int serve_all_reduce_rank(const std::vector<std::string>& what);

}  // namespace troupe::tools
