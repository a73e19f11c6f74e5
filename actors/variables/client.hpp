// Variable operations for threads that are no actors: the program of the chief, an application's own threads.
//
// One client actor per process owns a variable client; threads hand it groups of operations and wait for their end.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/variable_client.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace troupe {

class client_state {
 public:
  static constexpr const char* name = "client";
  using pointer = client_actor::stateful_pointer<client_state>;

  explicit client_state(pointer self) : self_(self), clock_(self) {}
  client_actor::behavior_type make_behavior(dialer_actor dialer, variable_client_options options, session_id session);

 private:
  pointer self_;
  timers clock_;
  std::unique_ptr<variable_client> variables_;
};

/// `session`: of the worker that it belongs to, or 0.
client_actor::behavior_type client(client_state::pointer self, dialer_actor dialer, variable_client_options options,
                                   session_id session);

}  // namespace troupe
