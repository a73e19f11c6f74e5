// A collective as plain arithmetic, for whoever has what all ranks bring: a simulation, where no rank has a thread of
// its own. Results are bitwise those of the communicators. Sizes are those of communicator::execute: an all_gather
// writes as many times the count as there are ranks, a reduce_scatter the part of it.
#pragma once

#include <troupe/device/collectives/collective.hpp>

#include <cstddef>
#include <span>

namespace troupe {

/// Performs the call for all ranks: reads each input, writes each output. An output may be the same rank's input, and
/// overlaps nothing else.
void perform_together(const collective& call, std::span<const std::byte* const> inputs,
                      std::span<std::byte* const> outputs);

/// The same for one rank's output.
void perform_for_rank(const collective& call, int rank, std::span<const std::byte* const> inputs, std::byte* output);

}  // namespace troupe
