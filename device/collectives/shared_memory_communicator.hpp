// Collectives among processes of one host, through memory that they share.
//
// Each rank has windows in the shared memory. It copies there what others need, and reads the others' windows: no
// system call, no kernel copy, and large tensors in chunks that stay in the caches. Waiting is looking at a number,
// then sleeping until it changes. The kernel tells each rank by itself when another process ends.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace troupe {

/// This rank's end of a new group, for tensors in host memory. All ranks call it with the same name and size, each in
/// its own process (or in one: the ends do not care); the name must be used by no other group that is being formed on
/// this host (in this network namespace), and have at most 100 characters. Returns when all ranks are there.
///
/// A rank whose process ends, or that destroys its end, ends the calls that need it on all others with
/// unavailable_error that names the rank and the process, within milliseconds. abort() reaches all ranks.
/// Leaves nothing behind, however the processes end.
///
/// Throws invalid_argument_error for a bad rank, size, name or limit, or a rank that is there twice;
/// already_exists_error if the name is in use; deadline_exceeded_error that names the ranks that did not come;
/// unavailable_error if a process ends meanwhile; resource_exhausted_error if there is no memory to share (0.5 MiB for
/// each rank).
std::unique_ptr<communicator> make_shared_memory_communicator(const std::string& name, int rank, int size,
                                                              std::chrono::nanoseconds limit);

}  // namespace troupe
