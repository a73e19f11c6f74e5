// expect: use std::string
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  coordinator.schedule([](std::string_view text) { return text.size(); }, "text");
}
