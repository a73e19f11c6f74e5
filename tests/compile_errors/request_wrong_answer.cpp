// expect: must have the parameters that the actor's interface answers with
#include <troupe/runtime/actors.hpp>
#include <troupe/troupe.hpp>

#include <chrono>
#include <string>

using greeter = caf::typed_actor<caf::replies_to<caf::get_atom>::with<std::string>>;

void mistake(caf::event_based_actor* self, const troupe::actor_reference<greeter>& whom) {
  whom.request(self, std::chrono::seconds{1}, caf::get_atom_v).then([](int) {}, [](const troupe::status&) {});
}
