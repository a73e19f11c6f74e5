// How many shards a variable is split into, and which servers get them.
//
// Semantics: examples/reference/semantics.md 1.6 (FixedShardsPartitioner, MinSizePartitioner, MaxSizePartitioner).
#pragma once

#include <troupe/device/base/dtype.hpp>
#include <troupe/device/base/shape.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace troupe {

/// Gives the number of shards along axis 0 for a variable of this shape and dtype, at least 1.
using partitioner = std::function<std::int64_t(const shape&, dtype)>;

/// Always `shards`, or as many as there are rows. @throws invalid_argument_error unless positive.
partitioner fixed_shards_partitioner(std::int64_t shards);

/// As many shards as possible with at least `shard_bytes_min` each, at most `shards_max`.
/// @throws invalid_argument_error unless both are positive.
partitioner min_size_partitioner(std::int64_t shard_bytes_min = 256 * 1024, std::int64_t shards_max = 1);

/// As few shards as possible with at most `shard_bytes_max` each, at most `shards_max` (0: no limit).
/// @throws invalid_argument_error unless the size is positive and the limit not negative.
partitioner max_size_partitioner(std::int64_t shard_bytes_max, std::int64_t shards_max = 0);

/// Rows of each of `shards` parts of `rows`: the first `rows % shards` are one row larger ("div").
std::vector<std::int64_t> split_rows(std::int64_t rows, std::int64_t shards);

/// Which server gets the next shard.
enum class server_placement : std::uint8_t {
  round_robin,     ///< one after the other, over all variables, as the reference does
  balanced_bytes,  ///< the server that holds the fewest bytes
};

/// Hands out servers. Belongs to one strategy.
class server_allocator {
 public:
  server_allocator(server_placement policy, int servers)
      : policy_(policy), bytes_(static_cast<std::size_t>(servers), 0) {}
  /// Only servers that are usable, if it is given, which one must be.
  int next(std::int64_t shard_bytes, const std::vector<bool>& usable = {});
  /// A shard is gone.
  void give_back(int server, std::int64_t shard_bytes);

 private:
  server_placement policy_;
  std::vector<std::int64_t> bytes_;
  std::size_t turn_ = 0;
};

}  // namespace troupe
