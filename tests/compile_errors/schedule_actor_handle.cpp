// expect: pass the actor_reference
#include <troupe/troupe.hpp>

#include <caf/actor.hpp>

void mistake(troupe::cluster_coordinator& coordinator, const caf::actor& counter) {
  coordinator.schedule([](const caf::actor&) {}, counter);
}
