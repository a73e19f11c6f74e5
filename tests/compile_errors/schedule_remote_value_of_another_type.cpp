// expect: an argument does not convert to the function's parameter
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator, troupe::remote_value<std::string> text) {
  coordinator.schedule([](int x) { return x; }, text);
}
