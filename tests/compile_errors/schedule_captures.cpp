// expect: pass what it needs as arguments
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  int count = 0;
  coordinator.schedule([count] { return count; });
}
