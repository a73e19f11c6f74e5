#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/offers/passed_message.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/actor_system.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/make_message.hpp>
#include <caf/scoped_execution_unit.hpp>

#include <vector>

namespace troupe {

caf::message detail::passed_message(caf::message what, const caf::strong_actor_ptr& to) {
  auto& system = *to->home_system;
  if (to->nid != system.node() || !is_encoded_between(system.node(), to->nid)) return what;
  caf::scoped_execution_unit here{&system};
  std::vector<char> bytes;
  caf::binary_serializer sink{&here, bytes};
  if (auto failed = sink(what)) throw_status(status_of(failed, "a message to an actor can't be made into bytes"));
  caf::message result;
  caf::binary_deserializer source{&here, bytes};
  if (auto failed = source(result)) throw_status(status_of(failed, "a message to an actor can't be read from bytes"));
  return result;
}

void detail::pass_question(const caf::strong_actor_ptr& self, caf::message_id sent, const caf::strong_actor_ptr& to,
                           caf::message question, caf::execution_unit* context) {
  try {
    to->enqueue(self, sent, passed_message(std::move(question), to), context);
  } catch (...) {
    self->enqueue(nullptr, sent.response_id(), caf::make_message(make_error(status_of(std::current_exception()))),
                  nullptr);
  }
}

}  // namespace troupe
