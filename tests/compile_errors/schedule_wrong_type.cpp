// expect: an argument does not convert to the function's parameter
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator, troupe::variable<float> v) {
  const double result = coordinator.schedule([](troupe::variable<double> x) { return x.read(); }, v).fetch();
  (void)result;
}
