// expect: the first argument is the function
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) { coordinator.schedule(1, 2); }
