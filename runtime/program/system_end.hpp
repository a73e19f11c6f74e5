// The end of a process's actor system, which may not hang the program that made it.
#pragma once

#include <troupe/runtime/system_config.hpp>

#include <memory>

namespace troupe {

/// Destroys the system, if nobody needs it any more. Handles of the program's that outlive it (a variable, a remote
/// value in a global object) keep actors of it, and CAF would wait for those for ever: then it stays until the process
/// ends, and the log says so. `own_threads`: detached actors of CAF's own. False: actors are still running, as a worker
/// in a closure that does not end.
bool end_system(std::unique_ptr<system_config> config, std::unique_ptr<caf::actor_system> system,
                std::size_t own_threads);

}  // namespace troupe
