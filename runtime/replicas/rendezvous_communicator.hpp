// Collectives between processes through the words of their rendezvous, for simulated hosts, whose network carries
// messages only. Each rank tells all others what it brings, and computes its own result.
//
// Slow and simple: a collective is as many messages as there are ranks, for each rank, over the chief, which keeps two
// words for each rank and collective (rendezvous_options::words_max says how many), but not their content.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/device/collectives/communicator.hpp>

#include <caf/actor_system.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

/// This rank's end of a group of this generation; all ranks choose the same name, which no other group of it has. Used
/// by one fiber at a time. D-1 holds: who fails, aborts or destroys its end says so to those who wait for it.
std::shared_ptr<communicator> make_rendezvous_communicator(caf::actor_system& system, const rendezvous_actor& host,
                                                           std::uint64_t generation, std::string name, int rank,
                                                           int size);

}  // namespace troupe
