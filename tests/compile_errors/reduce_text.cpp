// expect: can't be reduced: expected tensors
#include <troupe/troupe.hpp>

void mistake(troupe::mirrored_strategy& strategy, const troupe::per_replica<std::string>& names) {
  strategy.reduce(troupe::reduce_op::sum, names);
}
