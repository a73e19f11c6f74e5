// The coordinator as remote values and per-worker values hold it: the chief's own, or what a member has in its place
// (services/closure_courier.hpp).
//
// Problem: an actor system waits, at its end, for the thread of a detached actor until nobody holds the actor, and a
// program may keep remote values for longer than the system (CAF 0.17). Solution: they hold it weakly, and after the
// cluster's end it is not there.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/typed_actor.hpp>

namespace troupe {

class weak_coordinator {
 public:
  explicit weak_coordinator(const closure_owner& here) : here_(caf::actor_cast<caf::weak_actor_ptr>(here)) {}
  /// Null after the cluster's end.
  closure_owner lock() const { return caf::actor_cast<closure_owner>(here_.lock()); }

 private:
  caf::weak_actor_ptr here_;
};

}  // namespace troupe
