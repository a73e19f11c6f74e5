// expect: take it by value or by const reference
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  int count = 0;
  coordinator.schedule([](int& x) { ++x; }, count);
}
