#include <fmt/format.h>

using namespace troupe;
using namespace std::chrono_literals;

void closures(cluster& cluster, parameter_server_strategy& strategy, cluster_coordinator& coordinator) {
  // SNIPPET
}
