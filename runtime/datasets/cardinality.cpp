#include <troupe/device/base/error.hpp>
#include <troupe/runtime/datasets/cardinality.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe::detail {

namespace {

bool is_finite(cardinality elements) { return elements && *elements != infinite_cardinality; }

}  // namespace

void check_at_least(std::string_view transformation, std::string_view what, std::int64_t value, std::int64_t least) {
  if (value >= least) return;
  throw invalid_argument_error{
      fmt::format("{}: the {} is {}; expected {} or more", transformation, what, value, least)};
}

void check_shard(std::int64_t num_shards, std::int64_t index) {
  check_at_least("shard", "number of shards", num_shards, 1);
  if (index >= 0 && index < num_shards) return;
  throw invalid_argument_error{
      fmt::format("shard: the index is {}; expected 0 or more and less than the {} shards", index, num_shards)};
}

cardinality cardinality_of_take(cardinality elements, std::int64_t count) {
  if (count == 0) return 0;
  if (!elements) return {};
  return std::min(*elements, count);
}

cardinality cardinality_of_skip(cardinality elements, std::int64_t count) {
  if (!is_finite(elements)) return elements;
  return std::max<std::int64_t>(*elements - count, 0);
}

cardinality cardinality_of_repeat(cardinality elements, std::optional<std::int64_t> count) {
  if (count == 0 || elements == 0) return 0;
  if (!elements) return {};
  std::int64_t product = 0;
  if (!count || __builtin_mul_overflow(*elements, *count, &product)) return infinite_cardinality;
  return product;
}

cardinality cardinality_of_batch(cardinality elements, std::int64_t batch_size, bool drop_remainder) {
  if (!is_finite(elements)) return elements;
  const auto remains = *elements % batch_size != 0;
  return *elements / batch_size + (remains && !drop_remainder ? 1 : 0);
}

cardinality cardinality_of_shard(cardinality elements, std::int64_t num_shards, std::int64_t index) {
  if (!is_finite(elements)) return elements;
  return *elements / num_shards + (index < *elements % num_shards ? 1 : 0);
}

}  // namespace troupe::detail
