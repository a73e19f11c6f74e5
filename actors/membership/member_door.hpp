// The door of a process: every node of a cluster publishes one member actor.
//
//   ALONE --adopt--> IN --retire--> RETIRED
//     |               |--dismiss--> DISMISSED
//     |               '--the chief is silent, or its link broke and it did not come back--> ORPHANED
//     '--nobody came within adoption_limit-----------> ORPHANED
//
// It answers who the process is and that it lives, hands out the process's roles and the actors that the application
// offers there, and keeps the chief's view current
// for them. It also watches the chief, as the chief watches it: a member whose chief is lost ends itself (`on_end`
// tells the runtime), so no worker outlives its job. A member that was frozen gives up its worker's session on waking:
// the chief has re-queued its closures (C-3).
#pragma once

#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/membership/member_end.hpp>
#include <troupe/actors/membership/waits_inquiry.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/messages/known_peers.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>

namespace troupe {

struct member_door_options {
  member_identity self;
  worker_actor worker;
  parameter_server_actor server;
  /// Of the application's actors; null: nobody offers any.
  directory_actor directory;
  /// How long a process waits for its chief's first word.
  duration adoption_limit = std::chrono::minutes{5};
  /// Longer pauses of the process itself end its worker's session.
  duration own_pause_max = std::chrono::milliseconds{1500};
  /// How long the chief has to adopt the process again when their link breaks: a server that ended at once would take
  /// its variables with it.
  duration link_loss_max = std::chrono::seconds{1};
  /// Called once, in the actor.
  std::function<void(const member_end&)> on_end;
};

class member_door_state {
 public:
  static constexpr const char* name = "member";
  using pointer = member_actor::stateful_pointer<member_door_state>;

  explicit member_door_state(pointer self)
      : self_(self), clock_(self), requests_(self, clock_), chief_process_(self->system()) {}
  ~member_door_state() { inquiries_.end_all({status_code::cancelled, "the member ends"}); }
  member_actor::behavior_type make_behavior(member_door_options options);

 private:
  caf::result<wire<member_identity>> adopt(const membership_actor& chief, const adoption& terms);
  void lose_link(const status& why);
  void take_view(wire<cluster_view>& view);
  void tick();
  void leave(const status& why);
  void end(member_end how);
  caf::result<wire<cluster_waits>> tell_waits(duration limit);

  pointer self_;
  timers clock_;
  requests requests_;
  waits_inquiries inquiries_;
  member_door_options options_;
  membership_actor chief_;
  chief_of_member chief_process_;
  adoption terms_;
  /// Why no chief can have this process any more.
  status leaving_;
  std::uint64_t adoptions_ = 0;
  std::uint64_t epoch_ = 0;
  time_point last_heard_{};
  time_point last_tick_{};
};

member_actor::behavior_type member_door(member_door_state::pointer self, member_door_options options);

}  // namespace troupe
