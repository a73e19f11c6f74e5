// Collectives among processes of several hosts, over TCP.
//
// gloo connects the ranks and moves the bytes; the algorithms are ours (staged_communicator.hpp). gloo's own cannot be
// ended by another thread, wait until their timeout for a rank that calls something else, and do not say whom they have
// waited for. In ours each message says which collective it belongs to, so a disagreement shows in the first one, and a
// rank that fails tells all others why.
#pragma once

#include <troupe/device/collectives/communicator.hpp>
#include <troupe/device/collectives/rendezvous_store.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace troupe {

/// This rank's end of a new group, for tensors in host memory. All ranks call it with the same size and the same store,
/// which is used only here and must be new for each group. `address`: a name or number of this host under which the
/// other ranks reach it. Returns when all ranks are connected.
///
/// A rank whose process ends, whose connection breaks, or that destroys its end, ends the calls that need it on all
/// others with unavailable_error that names the rank. abort() reaches all ranks. Each end has two threads of its own,
/// which mostly sleep. Connections are neither encrypted nor authenticated: use it inside a trusted network.
///
/// Throws invalid_argument_error for a bad rank, size, address or limit; deadline_exceeded_error or unavailable_error
/// if not all ranks are connected within the limit.
std::unique_ptr<communicator> make_gloo_communicator(rendezvous_store& store, const std::string& address, int rank,
                                                     int size, std::chrono::nanoseconds limit);

}  // namespace troupe
