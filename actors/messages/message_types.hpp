// Makes troupe's messages known to an actor system's configuration.
#pragma once

#include <caf/fwd.hpp>

namespace troupe {

/// Adds message types, the application's own (TROUPE_MESSAGE, values/message_type.hpp) too, and the error category.
/// Call it in the constructor of the application's own config, before the actor system exists; all processes of a
/// cluster must do so.
void add_troupe_types(caf::actor_system_config& config);

}  // namespace troupe
