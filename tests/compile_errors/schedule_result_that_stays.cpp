// expect: keep what can't on the worker with create_per_worker_values
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  coordinator.schedule([](int x) { return std::make_unique<int>(x); }, 1);
}
