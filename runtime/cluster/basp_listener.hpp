// Listens for CAF's middleman: it gets connections of peers that have said who they are, and no others.
//
// Problem: CAF's own listener takes whatever connects, greets it, and keeps it for as long as it is silent; without
// descriptors it tries again without a pause. Solution: a port's door (runtime/door) accepts, and hands a connection to
// the broker when it is known who has come, as if the broker had accepted it then. Tensors and the ranks of groups
// come by the same door.
//
// A port belongs to its actor system and ends with it at the latest.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/runtime/cluster/links.hpp>

#include <caf/fwd.hpp>

#include <cstdint>
#include <set>
#include <string>

namespace troupe {

/// Opens a port to an actor; returns it. `host` of `where`: an address of this machine; empty: all of them.
/// @throws unavailable_error that says why it can't be opened; permission_denied_error when it may not (credentials)
std::uint16_t listen_for_basp(caf::actor_system& system, const caf::strong_actor_ptr& whom,
                              const std::set<std::string>& interface, const task_address& where, const door_role& as);

/// Closes it; connections stay. Does nothing for a port that is not open.
void stop_listening_for_basp(caf::actor_system& system, std::uint16_t port);

}  // namespace troupe
