#include <fmt/format.h>

using namespace troupe;

void replicas(mirrored_strategy& strategy) {
  // SNIPPET
}
