// How the actors of a system reach those of other processes, and are reached: through doors.
//
// CAF believes what a peer says of itself. Here both ends of a connection have agreed at a door before CAF gets it
// (runtime/door), and who was there then is whom CAF's own handshake must name.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/runtime/cluster/connector.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/door/door_words.hpp>

#include <caf/fwd.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

/// As whom a process speaks at doors. Without a job: as no member of a cluster.
struct door_role {
  task_id task = {};
  std::uint64_t incarnation = 0;
};

/// What this system's process says of itself at doors.
peer_identity party_of(const caf::actor_system& system, const credentials& with, const door_role& as = {});

/// With what this system's process enters by the doors of others, and whom it lets in.
std::shared_ptr<const credentials> credentials_of(const caf::actor_system& system);

/// The role of the certificate that a process has shown on its connections to this one, or of this one's own. Empty: it
/// has shown none, or is not connected any more. Any thread.
std::string certified_role_of(const caf::actor_system& system, const caf::node_id& process);

/// Whether a process with this identity may be connected with this system, beside those that are. Any thread.
status check_peer(const caf::actor_system& system, const peer_identity& shown);

/// How actors of this system connect to others: by their doors, or as its configuration says (own_connections).
/// @throws failed_precondition_error (replaced_functions.hpp)
std::shared_ptr<connector> links_of(caf::actor_system& system, const door_role& as = {});

}  // namespace troupe
