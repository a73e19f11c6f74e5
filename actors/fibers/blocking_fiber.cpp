#include <troupe/actors/fibers/blocking_fiber.hpp>
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/simulated_surroundings.hpp>

#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>

namespace troupe {

void blocking_fiber::enqueue(caf::mailbox_element_ptr element, caf::execution_unit* where) {
  caf::blocking_actor::enqueue(std::move(element), where);
  if (auto* const waited_for = std::exchange(arrival_, nullptr)) waited_for->set();
}

void blocking_fiber::launch(caf::execution_unit*, bool, bool is_hidden) {
  if (!is_hidden) register_at_system();
  simulated_surroundings::of(home_system())->start_program([self = caf::strong_actor_ptr{ctrl()}] {
    static_cast<blocking_fiber*>(caf::actor_cast<caf::abstract_actor*>(self))->live();
  });
}

/// As the thread of a blocking actor does.
void blocking_fiber::live() {
  initialize();
  caf::error reason;
  try {
    act();
    reason = fail_state_;
  } catch (...) {
    reason = caf::exit_reason::unhandled_exception;
  }
  try {
    on_exit();
  } catch (...) {
  }
  cleanup(std::move(reason), context());
}

void blocking_fiber::await_data() {
  const awaiting what{"a message"};
  while (peek_at_next_mailbox_element() == nullptr) {
    completion arrival;
    arrival_ = &arrival;
    const std::shared_ptr<void> forgotten{nullptr, [this](void*) { arrival_ = nullptr; }};
    arrival.wait_until(never);
  }
}

bool blocking_fiber::await_data(timeout_type) {
  throw failed_precondition_error{
      "a blocking actor waits for a message with caf::after, by the wall clock, which no seed of a simulation "
      "controls: let it send a message to itself (delayed_send)"};
}

}  // namespace troupe
