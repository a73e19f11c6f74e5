// Writes what happens to a cluster's members to a log.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>

#include <caf/fwd.hpp>

#include <memory>

namespace spdlog {
class logger;
}

namespace troupe {

/// Subscribes a listener that logs members that come and go and what that meant for their closures.
void log_events(caf::actor_system& system, const event_bus_actor& events, std::shared_ptr<spdlog::logger> log);

}  // namespace troupe
