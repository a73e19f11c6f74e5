#include "closures.hpp"

namespace {

int twice(int x) { return x + x; }

}  // namespace

TROUPE_REGISTER("more/twice", twice);

troupe::remote_value<int> closures::schedule_elsewhere(troupe::cluster_coordinator& coordinator, int x) {
  return coordinator.schedule([](int a) { return a + 1; }, x);
}

troupe::remote_value<int> closures::schedule_twice_elsewhere(troupe::cluster_coordinator& coordinator, int x) {
  return coordinator.schedule<twice>(x);
}
