// Asks a job of other processes who waits there, from outside of it.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/messages.hpp>

#include <caf/fwd.hpp>

namespace troupe {

/// What the processes of a cluster tell, one of whose members listens at this address; or those of a process group,
/// whose chief does. They have the limit to answer; whoever does not is named as silent. Takes up to the limit and 5 s
/// more. The system must know troupe's messages and have loaded the middleman.
/// @throws unavailable_error when nobody answers there, failed_precondition_error when it is no process of a troupe
/// job of this version, deadline_exceeded_error, resource_exhausted_error when too many ask.
cluster_waits ask_who_waits(caf::actor_system& system, const task_address& address, duration limit);

}  // namespace troupe
