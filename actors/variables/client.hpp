// Variable operations for threads that are no actors: the program of the chief, an application's own threads.
//
// One client actor per process owns a variable client; threads hand it groups of operations and wait for their end.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
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
  client_actor::behavior_type make_behavior(dialer_actor dialer, variable_client_options options);

 private:
  pointer self_;
  timers clock_;
  std::unique_ptr<variable_client> variables_;
};

client_actor::behavior_type client(client_state::pointer self, dialer_actor dialer, variable_client_options options);

/// While it lives, code of the running fiber that is no closure uses this client for handles that have none of their
/// own: functions on replicas that a closure has started.
class using_client {
 public:
  explicit using_client(client_actor client);
  ~using_client();
  using_client(const using_client&) = delete;

  /// The one in force in the running fiber or thread; for replicas of a closure that of its worker; or null.
  static client_actor current();

 private:
  client_actor before_;
};

/// Performs operations and waits for all of them: through the running closure's worker if there is one (and `client`
/// may be null), else through the client. A fiber parks, a thread blocks. Each outcome has its own status. @throws
/// failed_precondition_error when there is neither; cancelled_error when the fiber is cancelled meanwhile.
std::vector<operation_outcome> perform(const client_actor& client, std::vector<shard_request> requests, duration limit);

}  // namespace troupe
