// Collectives among threads of one process: replicas on the devices of one host.
//
// Ranks read each other's tensors where they lie and write results where they belong, so nothing is copied on the way:
// a reduction of n bytes over R ranks costs R reads and R writes of n bytes, shared out equally. Threads wait for each
// other only in memory (meeting_point.hpp).
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace troupe {

/// The ends of a new group, one for each rank, for tensors in host memory. Each is used by one thread at a time, and
/// may be handed to another thread between calls.
///
/// Deadlines and aborts end the waiting for other ranks; once all of them are there, what is left is bounded work and
/// is completed. So a call that ends with an error has changed no tensor. Destroying one end while others are in use
/// ends those with unavailable_error that names the rank.
/// Throws invalid_argument_error for a size below 1.
std::vector<std::unique_ptr<communicator>> make_thread_communicators(int size);

/// Connects so many ranks of one process: make_thread_communicators, or what a simulation has in its place.
using local_connection = std::function<std::vector<std::unique_ptr<communicator>>(int size)>;

}  // namespace troupe
