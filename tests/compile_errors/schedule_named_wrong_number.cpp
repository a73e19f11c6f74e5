// expect: the function takes another number of arguments
#include <troupe/troupe.hpp>

int step(int a, int b) { return a + b; }

void mistake(troupe::cluster_coordinator& coordinator) {
  const auto result = coordinator.schedule<step>({.worker = 1}, 1);
  result.wait_for(std::chrono::seconds{1});
}
