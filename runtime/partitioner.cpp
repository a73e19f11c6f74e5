#include <troupe/device/base/error.hpp>
#include <troupe/runtime/partitioner.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

std::int64_t bytes_of(const shape& extents, dtype type) {
  return extents.element_count() * static_cast<std::int64_t>(size_bytes(type));
}

/// Shards are made of whole rows.
std::int64_t at_most_rows(std::int64_t shards, const shape& extents) {
  return std::clamp<std::int64_t>(shards, 1, extents.rank() == 0 ? 1 : std::max<std::int64_t>(extents[0], 1));
}

void check_positive(std::int64_t x, std::string_view what) {
  if (x <= 0) throw invalid_argument_error{fmt::format("a partitioner's {} is {} but must be positive", what, x)};
}

}  // namespace

partitioner fixed_shards_partitioner(std::int64_t shards) {
  check_positive(shards, "number of shards");
  return [shards](const shape& extents, dtype) { return at_most_rows(shards, extents); };
}

partitioner min_size_partitioner(std::int64_t shard_bytes_min, std::int64_t shards_max) {
  check_positive(shard_bytes_min, "minimum shard size");
  check_positive(shards_max, "maximum number of shards");
  return [=](const shape& extents, dtype type) {
    return at_most_rows(std::min(bytes_of(extents, type) / shard_bytes_min, shards_max), extents);
  };
}

partitioner max_size_partitioner(std::int64_t shard_bytes_max, std::int64_t shards_max) {
  check_positive(shard_bytes_max, "maximum shard size");
  if (shards_max < 0)
    throw invalid_argument_error{fmt::format(
        "a partitioner's maximum number of shards is {} but must be positive, or 0 for no limit", shards_max)};
  return [=](const shape& extents, dtype type) {
    if (extents.rank() == 0 || extents[0] == 0) return std::int64_t{1};
    const auto row_bytes = std::max<std::int64_t>(bytes_of(extents, type) / extents[0], 1);
    const auto rows = std::max<std::int64_t>(shard_bytes_max / row_bytes, 1);
    const auto shards = (extents[0] + rows - 1) / rows;
    return at_most_rows(shards_max == 0 ? shards : std::min(shards, shards_max), extents);
  };
}

std::vector<std::int64_t> split_rows(std::int64_t rows, std::int64_t shards) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(shards), rows / shards);
  for (std::int64_t i = 0; i < rows % shards; ++i) ++result[static_cast<std::size_t>(i)];
  return result;
}

int server_allocator::next(std::int64_t shard_bytes, const std::vector<bool>& usable) {
  const auto fits = [&](std::size_t server) { return usable.empty() || usable[server]; };
  auto chosen = turn_++ % bytes_.size();
  while (!fits(chosen)) chosen = turn_++ % bytes_.size();
  if (policy_ == server_placement::balanced_bytes)
    for (std::size_t server = 0; server < bytes_.size(); ++server)
      if (fits(server) && (bytes_[server] < bytes_[chosen] || (bytes_[server] == bytes_[chosen] && server < chosen)))
        chosen = server;
  bytes_[chosen] += shard_bytes;
  return static_cast<int>(chosen);
}

void server_allocator::give_back(int server, std::int64_t shard_bytes) {
  bytes_[static_cast<std::size_t>(server)] -= shard_bytes;
}

}  // namespace troupe
