// expect: an argument would lose its fraction, because the parameter is an integer
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator, const troupe::remote_value<double>& x) {
  const int result = coordinator.schedule([](int y) { return y; }, x).fetch();
  (void)result;
}
