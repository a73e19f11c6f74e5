// A collective of all ranks at once, by whoever has all of their memory: a simulation, where no rank has a thread of
// its own, and the actor that stands between processes there.
#pragma once

#include <troupe/device/collectives/collective.hpp>

#include <cstddef>
#include <span>

namespace troupe {

/// Performs the call for all ranks, by rank: reads each input, writes each output; results are bitwise those of
/// make_thread_communicators. Sizes are those of communicator::execute: an all_gather writes as many times the count as
/// there are ranks, a reduce_scatter the part of it. An output may be the same rank's input and overlaps nothing else.
void perform_together(const collective& call, std::span<const std::byte* const> inputs,
                      std::span<std::byte* const> outputs);

}  // namespace troupe
