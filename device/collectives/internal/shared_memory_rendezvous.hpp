// How the processes of a shared_memory_communicator group find each other and their memory. Private to it.
//
// Rank 0 listens under the group's name; the others connect and say who they are. When all are there, rank 0 makes the
// memory and sends it to each, with the list of processes; each maps it and opens its watch on the others; when all
// have, rank 0 says go. Whoever dies on the way is noticed by the end of its connection. Afterwards the connections are
// closed and the name is free.
#pragma once

#include <troupe/device/collectives/internal/process_watch.hpp>
#include <troupe/device/collectives/internal/shared_segment.hpp>

#include <chrono>
#include <string>

namespace troupe {

struct shared_memory_group {
  shared_segment segment;
  process_watch processes;  // by rank
};

/// Waits for all ranks. Throws as make_shared_memory_communicator.
shared_memory_group meet_in_shared_memory(const std::string& name, int rank, int size,
                                          std::chrono::steady_clock::time_point deadline);

}  // namespace troupe
