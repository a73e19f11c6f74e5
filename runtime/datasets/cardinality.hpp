// How many elements a dataset has, as far as that is known without reading it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace troupe {

/// A number of elements; nothing when only reading would tell.
using cardinality = std::optional<std::int64_t>;

/// The cardinality of a dataset that never ends.
inline constexpr std::int64_t infinite_cardinality = std::numeric_limits<std::int64_t>::max();

namespace detail {

/// Throws invalid_argument_error that names the transformation and what is less than `least`.
void check_at_least(std::string_view transformation, std::string_view what, std::int64_t value, std::int64_t least);
/// Throws invalid_argument_error unless num_shards >= 1 and 0 <= index < num_shards.
void check_shard(std::int64_t num_shards, std::int64_t index);

cardinality cardinality_of_take(cardinality elements, std::int64_t count);
cardinality cardinality_of_skip(cardinality elements, std::int64_t count);
cardinality cardinality_of_repeat(cardinality elements, std::optional<std::int64_t> count);
cardinality cardinality_of_batch(cardinality elements, std::int64_t batch_size, bool drop_remainder);
cardinality cardinality_of_shard(cardinality elements, std::int64_t num_shards, std::int64_t index);

}  // namespace detail
}  // namespace troupe
