#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/runtime/replicas/colocation.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

struct placement_in_force {
  const strategy_state* strategy;
  std::vector<std::string> devices;
};

const fiber_local<std::vector<placement_in_force>> placements;

}  // namespace

colocation::colocation(const strategy_state* strategy, std::vector<std::string> devices) {
  placements->push_back({strategy, std::move(devices)});
}

colocation::~colocation() { placements->pop_back(); }

const std::vector<std::string>* colocation::current(const strategy_state* strategy) {
  const auto innermost = std::find_if(placements->rbegin(), placements->rend(),
                                      [&](const auto& each) { return each.strategy == strategy; });
  return innermost == placements->rend() ? nullptr : &innermost->devices;
}

}  // namespace troupe
