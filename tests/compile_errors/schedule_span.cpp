// expect: use std::string
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator, std::span<const float> numbers) {
  coordinator.schedule([](const auto& xs) { return xs.size(); }, numbers);
}
