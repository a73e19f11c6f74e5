// expect: the function can't be called with these arguments
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  coordinator.schedule([](const auto& x, int y) { return x + y; }, 1);
}
