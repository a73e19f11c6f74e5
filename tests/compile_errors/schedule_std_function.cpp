// expect: pass the lambda itself
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  const std::function<int(int)> f = [](int a) { return a; };
  coordinator.schedule(f, 1);
}
