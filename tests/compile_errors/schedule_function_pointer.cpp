// expect: name the function, as in schedule<step>(...)
#include <troupe/troupe.hpp>

int step(int a) { return a; }

void mistake(troupe::cluster_coordinator& coordinator) { coordinator.schedule(step, 1); }
