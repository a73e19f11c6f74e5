#include <troupe/actors/fibers/answer_exceptions.hpp>
#include <troupe/actors/fibers/fault.hpp>

namespace troupe {

void answer_exceptions(caf::scheduled_actor* self) {
  self->set_exception_handler([](caf::scheduled_actor* thrower, std::exception_ptr& thrown) -> caf::error {
    auto why = make_error(status_of(thrown));
    // Its first message was none, and a handler that made a promise has taken the sender.
    const auto* const handled = thrower->current_mailbox_element();
    if (handled != nullptr && handled->mid.is_request()) thrower->make_response_promise().deliver(why);
    return why;
  });
}

}  // namespace troupe
