// compiles
//
// What a simulation offers in the same words as a coordinator.
#include <troupe/runtime/simulation.hpp>

int step(int a, int b) { return a + b; }

void every_form_of_schedule(troupe::simulation& simulation) {
  troupe::remote_value<int> sum = simulation.schedule<step>({.worker = 0}, 1, 2);
  sum = simulation.schedule<step>(1, sum);
}
