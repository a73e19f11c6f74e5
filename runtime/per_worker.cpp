#include <troupe/actors/closures/weak_coordinator.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/per_worker.hpp>

#include <caf/send.hpp>
#include <caf/typed_actor.hpp>

namespace troupe {

per_worker_resource::~per_worker_resource() {
  if (const auto coordinator = coordinator_->lock()) caf::anon_send(coordinator, release_atom_v, id_);
}

}  // namespace troupe
