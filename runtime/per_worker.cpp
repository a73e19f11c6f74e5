#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/per_worker.hpp>

#include <caf/send.hpp>
#include <caf/typed_actor.hpp>

namespace troupe {

per_worker_resource::~per_worker_resource() { caf::anon_send(*coordinator_, release_atom_v, id_); }

}  // namespace troupe
