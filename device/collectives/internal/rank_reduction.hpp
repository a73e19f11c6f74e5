// The arithmetic of reductions over ranks on the host. Private to the communicators of host memory.
//
// Results must be bitwise equal on all ranks, whoever computes which part: so element i is always
// ((x0[i] + x1[i]) + x2[i]) + ..., in the order of ranks, in the dtype's wide type (numeric.hpp), rounded once at the
// end. A mean divides that sum by the number of ranks.
#pragma once

#include <troupe/device/collectives/collective.hpp>

#include <cstddef>
#include <span>

namespace troupe {

/// `count` elements at the same place of every input, reduced and written to every output. Addresses are aligned for
/// the type. Outputs may be inputs, or parts of them at the same place; otherwise nothing overlaps.
/// Throws invalid_argument_error for booleans, and for the mean of integers, before anything is written.
void reduce_ranks(reduce_op op, dtype type, std::span<const std::byte* const> inputs,
                  std::span<std::byte* const> outputs, std::size_t count);

}  // namespace troupe
