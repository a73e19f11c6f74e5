// expect: name the function, as in schedule<step>(...)
#include <troupe/troupe.hpp>

struct counter {
  int count = 0;
  int get() const { return count; }
};

void mistake(troupe::cluster_coordinator& coordinator) { coordinator.schedule(&counter::get, counter{}); }
