#include <troupe/runtime/simulation.hpp>

using namespace troupe;

void simulated(const program_function& program) {
  // SNIPPET
}
