// What an actor system must have for a cluster of several processes.
#pragma once

#include <caf/fwd.hpp>

#include <string_view>

namespace troupe {

/// `who` begins the sentence: "a cluster of several processes".
/// @throws failed_precondition_error that says what its config lacks: the middleman, or troupe's message types.
void require_network(const caf::actor_system& system, std::string_view who);

}  // namespace troupe
