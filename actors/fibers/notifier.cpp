#include <troupe/actors/fibers/notifier.hpp>

#include <caf/behavior.hpp>
#include <caf/error.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/unit.hpp>

#include <utility>

namespace troupe {

std::function<void()> make_notifier(caf::scheduled_actor* self, std::function<void()> work) {
  const auto id = self->new_request_id(caf::message_priority::normal).response_id();
  self->add_multiplexed_response_handler(
      id, caf::behavior{[work](caf::unit_t) { work(); }, [work](caf::error&) { work(); }});
  return [target = caf::strong_actor_ptr{self->ctrl()}, id] {
    target->enqueue(caf::make_mailbox_element(nullptr, id, caf::no_stages, caf::unit), nullptr);
  };
}

}  // namespace troupe
