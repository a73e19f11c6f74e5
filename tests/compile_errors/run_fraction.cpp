// expect: an argument would lose its fraction, because the parameter is an integer
#include <troupe/troupe.hpp>

void mistake(troupe::mirrored_strategy& strategy) {
  strategy.run([](int x) { return x; }, 3.7);
}
