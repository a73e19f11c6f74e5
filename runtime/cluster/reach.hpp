// Reaches what another process has published, for code that is no actor; basp_dialer.hpp says how.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/task.hpp>
#include <troupe/device/base/error.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/fwd.hpp>

#include <set>
#include <string>

namespace troupe {

struct published_actor {
  /// Null: somebody listens there, but nothing is published.
  caf::strong_actor_ptr handle;
  std::set<std::string> interface;
};

/// One attempt. Any thread or fiber, but no handler of an actor. `doing` begins the errors: "connecting to ...".
/// @throws unavailable_error when nobody listens there; deadline_exceeded_error; unauthenticated_error and others of
/// the door there; failed_precondition_error (replaced_functions.hpp)
published_actor reach(caf::actor_system& system, const task_address& where, duration limit, const std::string& doing);

/// The same for an actor of this interface; `what` says what it must be: "member of a troupe cluster".
/// @throws failed_precondition_error when it is none
template <class Published>
Published reach_as(caf::actor_system& system, const task_address& where, duration limit, const std::string& doing,
                   const std::string& what) {
  const auto found = reach(system, where, limit, doing);
  if (!found.handle || !system.assignable(found.interface, system.message_types<Published>()))
    throw failed_precondition_error{doing + ": what answers there is no " + what + " of this version"};
  return caf::actor_cast<Published>(found.handle);
}

}  // namespace troupe
