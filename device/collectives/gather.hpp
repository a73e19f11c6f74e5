// Gathering tensors that differ in one extent: last batches, sparse gradients, the strategies' gather.
//
// Collectives move equal sizes, so every rank has to know all sizes first: the ranks exchange outlines of what they
// have, pad to the largest, gather, and trim. Tensors that do not fit together are found in the exchange, on all ranks,
// and named; the group stays usable.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// All ranks' tensors one after another along an axis (negative: from the end), in the order of ranks. Shapes are equal
/// except on that axis. The limit covers all that is needed.
/// Throws out_of_range_error for an axis that this rank's tensor does not have, before anything is sent, and
/// invalid_argument_error, on all ranks, when dtypes, axes or other extents differ.
tensor gather_uneven(communicator& ranks, const tensor& x, int axis, std::chrono::nanoseconds limit);

/// The same along axis 0 for ranks that know already how many rows each of them has.
tensor gather_rows_of_ranks(communicator& ranks, const tensor& x, std::span<const std::int64_t> rows,
                            std::chrono::nanoseconds limit);

/// What a rank tells the others about a tensor, with a number that says what it is about to do with it.
struct outline {
  dtype type;
  shape extents;
  std::int64_t number;
};

/// Element r is what rank r passed.
std::vector<outline> exchange_outlines(communicator& ranks, const outline& mine, std::chrono::nanoseconds limit);

/// What is left of a limit that several collectives share: at least 1 ns, so that the next one says who is missing.
std::chrono::nanoseconds time_left(const communicator& ranks, communicator::clock::time_point start,
                                   std::chrono::nanoseconds limit);

}  // namespace troupe
