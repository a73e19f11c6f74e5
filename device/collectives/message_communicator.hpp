// Collectives among processes of several hosts, as messages over connections between all pairs of ranks.
//
// Who connects them and whether they are encrypted is the caller's business; the algorithms are those of
// staged_communicator.hpp. Each message says which collective it belongs to, so a disagreement shows in the first one,
// and a rank that fails tells all others why.
#pragma once

#include <troupe/device/base/byte_stream.hpp>
#include <troupe/device/collectives/communicator.hpp>

#include <memory>
#include <vector>

namespace troupe {

/// This rank's end of a new group, for tensors in host memory. `others` are its connections to the other ranks, by
/// rank, and nothing at its own.
///
/// A rank whose process ends, whose connection breaks, or that destroys its end, ends the calls that need it on all
/// others with unavailable_error that names the rank. abort() reaches all ranks. A call works in its caller's thread.
///
/// Throws invalid_argument_error for a bad rank or a connection that is missing, resource_exhausted_error when no
/// descriptor is left.
std::unique_ptr<communicator> make_message_communicator(int rank, std::vector<std::unique_ptr<byte_stream>> others);

}  // namespace troupe
