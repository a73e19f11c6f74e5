// Processes of a simulation as members: tasks by the names of their hosts, and hosts of a world's own that offer actors
// to each other and find them, as members of a cluster do.
//
// Own hosts have no chief. Who is there the world knows, so in each process an actor stands in for the membership: it
// says of every host of the world that it is present. The directory (offers/directory.hpp) dials it then, again and
// again while its process is down or has not become a member yet, and watches the link.
#pragma once

#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/offers/member_context.hpp>
#include <troupe/runtime/simulation/world_implementation.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

/// Where each task listens, on its own host.
inline constexpr std::uint16_t members_port = 1;

/// The name of the task's host: "worker-1".
std::string host_of(const task_id& task);
/// The task that an own host of this name is: "backup-1" is the second one of the job "backup", "store" the first one
/// of the job "store".
task_id task_of(const std::string& host);

member_identity identity_of(const task_id& task, const simulated_process& process);

/// Makes an own host's process a member. @throws failed_precondition_error when its name can't be a member's.
std::shared_ptr<member_context> become_member(simulated_world::implementation& all, simulated_process& process);
/// What the application has on a member ends with its process.
void leave(member_context& application, simulated_process& dying);

}  // namespace troupe
