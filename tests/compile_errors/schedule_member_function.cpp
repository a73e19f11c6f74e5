// expect: make the member function const
#include <troupe/troupe.hpp>

struct counter {
  int count = 0;
  int add(int x) { return count += x; }
};

void mistake(troupe::cluster_coordinator& coordinator) { coordinator.schedule<&counter::add>(counter{}, 1); }
