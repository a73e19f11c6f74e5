#include <fmt/format.h>

using namespace troupe;

void use_results(cluster_coordinator& coordinator, remote_value<int>& result) {
  // SNIPPET
}
