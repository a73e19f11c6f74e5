#include <troupe/actors/messages/chief_standing.hpp>

#include <map>
#include <mutex>
#include <utility>

namespace troupe {

namespace {

struct known_chiefs {
  std::mutex mutex;
  std::map<std::pair<const caf::actor_system*, const chief_standing*>, caf::node_id> by_door;

  template <class Condition>
  bool any(const caf::actor_system& system, Condition holds) {
    const std::scoped_lock lock{mutex};
    for (auto next = by_door.lower_bound({&system, nullptr}); next != by_door.end() && next->first.first == &system;
         ++next)
      if (holds(next->second)) return true;
    return false;
  }
};

known_chiefs& chiefs() {
  static auto& all = *new known_chiefs;
  return all;
}

}  // namespace

chief_standing::chief_standing(const caf::actor_system& of) : of_(of) {}

chief_standing::~chief_standing() {
  auto& all = chiefs();
  const std::scoped_lock lock{all.mutex};
  all.by_door.erase({&of_, this});
}

void chief_standing::adopt(const caf::node_id& chief) {
  auto& all = chiefs();
  const std::scoped_lock lock{all.mutex};
  all.by_door[{&of_, this}] = chief;
}

bool is_chief_of(const caf::actor_system& system, const caf::node_id& process) {
  return chiefs().any(system, [&](const caf::node_id& chief) { return chief == process; });
}

bool has_chief(const caf::actor_system& system) {
  return chiefs().any(system, [](const caf::node_id&) { return true; });
}

}  // namespace troupe
