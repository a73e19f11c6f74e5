// expect: an argument would lose its fraction, because the parameter is an integer
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  const int result = coordinator.schedule([](int x) { return x; }, 3.7).fetch();
  (void)result;
}
