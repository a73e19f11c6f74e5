// expect: the function takes another number of arguments
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  coordinator.schedule([](int a, int b) { return a + b; }, 1);
}
