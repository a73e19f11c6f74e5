// Collectives among replicas that are fibers of one thread, as all are in a simulation: who comes early parks, and the
// last one does the work of all.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <memory>
#include <vector>

namespace troupe {

/// The ends of a new group, one for each rank, for tensors in host memory; each is used by one fiber at a time, and
/// destroyed with the others. Errors and results are those of make_thread_communicators; limits are virtual.
std::vector<std::unique_ptr<communicator>> make_fiber_communicators(int size);

}  // namespace troupe
