// Whether an actor is there to hear anything.
#pragma once

#include <caf/abstract_actor.hpp>
#include <caf/actor_cast.hpp>

namespace troupe {

/// Of any handle that is not empty: it has ended, or the link to its process has been lost. It may end at any time.
template <class Handle>
bool has_ended(const Handle& actor) {
  return caf::actor_cast<caf::abstract_actor*>(actor)->getf(caf::abstract_actor::is_terminated_flag);
}

}  // namespace troupe
