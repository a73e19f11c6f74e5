// expect: update() takes mirrored arguments
#include <troupe/troupe.hpp>

void mistake(troupe::strategy_extended& extended, troupe::distributed_variable& variable,
             const troupe::per_replica<float>& gradients) {
  extended.update(
      variable, [](auto copy, float gradient) { copy.assign_sub(gradient); }, gradients);
}
