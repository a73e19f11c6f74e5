// expect: damages floating point numbers in messages between processes
#include <troupe/runtime/actors.hpp>
#include <troupe/troupe.hpp>

using thermometer = caf::typed_actor<caf::replies_to<caf::get_atom>::with<double>>;

void mistake(troupe::member& here, const thermometer& actor) { here.offer("thermometer", actor); }
