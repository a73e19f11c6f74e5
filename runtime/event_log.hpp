// Writes what happens to a cluster's members to a log.
#pragma once

#include <troupe/runtime/cluster.hpp>

namespace spdlog {
class logger;
}

namespace troupe {

/// Subscribes a listener that logs members that come and go and what that meant for their closures. The logger must
/// outlive the cluster.
void log_events(cluster& cluster, spdlog::logger& log);

}  // namespace troupe
