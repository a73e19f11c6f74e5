// expect: the function takes another number of arguments
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  const auto values = coordinator.create_per_worker_values([](int seed) { return seed; });
  coordinator.schedule([](int x) { return x; }, values);
}
