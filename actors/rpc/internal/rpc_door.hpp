// The door of a server: lets clients in, says which methods there are, and notices when clients go.
//
//   client: (unknown) --admit--> IN SESSION --dismiss, its link breaks, silence, it comes again--> (unknown)
//
// Calls don't pass through the door: a client learns the executors and talks to them. The door answers pings while
// methods compute, so a busy server is not taken for a dead one. A client that goes takes its calls with it: the
// executors cancel them.
#pragma once

#include <troupe/actors/membership/failure_detector.hpp>
#include <troupe/actors/rpc/internal/rpc_admission.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe::rpc {

struct door_options {
  std::vector<method_description> methods;
  std::vector<executor_actor> executors;
  /// The executors'.
  std::shared_ptr<admission> admitted;
  limits bounds;
  liveness silence;
  /// See server_welcome.
  bool tensors_where_dialled = false;
  /// In which role a process has come, empty if nobody knows; null: nobody ever does.
  std::function<std::string(const caf::node_id& process)> role_of = nullptr;
};

class door_state {
 public:
  static constexpr const char* name = "rpc_server";
  using pointer = door_actor::stateful_pointer<door_state>;

  explicit door_state(pointer self) : self_(self) {}
  door_actor::behavior_type make_behavior(door_options options);

 private:
  struct guest {
    connection_actor client;
    std::string name;
  };

  bool comes_itself(const connection_actor& client) const;
  status check(const client_hello& hello, const caf::node_id& process) const;
  std::uint64_t new_session() const;
  void lose_executor(const caf::down_msg& gone);
  /// A client that comes again has lost its session, or never heard of it because the welcome was late.
  void end_sessions_of(const connection_actor& client);
  void end_session(std::uint64_t which);

  pointer self_;
  door_options options_;
  failure_detector_actor detector_;
  std::map<std::uint64_t, guest> sessions_;
};

door_actor::behavior_type door(door_state::pointer self, door_options options);

}  // namespace troupe::rpc
