// A remote value as an actor: what an application's own actors ask instead of blocking a thread.
#pragma once

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <memory>

namespace troupe {

/// Answers each `find_atom` with the value, or with the closure's error, when the closure has ended; then it is gone
/// as soon as nobody holds it.
using value_promise_actor = caf::typed_actor<caf::replies_to<find_atom>::with<wire<value>>>;

value_promise_actor spawn_value_promise(caf::actor_system& system, std::shared_ptr<closure> scheduled);

}  // namespace troupe
