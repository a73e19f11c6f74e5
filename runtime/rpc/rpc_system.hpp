// The actor system of remote procedure calls in programs that don't bring one of their own.
#pragma once

#include <troupe/runtime/cluster/system_scope.hpp>

#include <caf/actor_system.hpp>

#include <memory>

namespace troupe::rpc {

/// Made when it is first needed, shared by all servers and clients of the process, and ended with the last of them;
/// `networked` ones have CAF's middleman. Its end waits for its threads; if one of them drops the last handle, because
/// it runs the method of a server for example, the reaper ends it.
std::shared_ptr<caf::actor_system> shared_system(bool networked);

/// For a system that can't end, since one of its actors computes and does not come back: it is left to the end of the
/// process instead of being waited for. Does nothing for a system of the application.
void abandon(const caf::actor_system& system);

/// @throws failed_precondition_error when an application's system lacks the middleman that "server" or "client" needs
void check_networked(const caf::actor_system& system, const char* what);

}  // namespace troupe::rpc
