// expect: can't be gathered: expected tensors
#include <troupe/troupe.hpp>

void mistake(troupe::mirrored_strategy& strategy, const troupe::per_replica<std::string>& names) {
  strategy.gather(names, 0);
}
