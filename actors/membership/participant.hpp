// A process's part in its group: it gathers at the rendezvous, answers pings, and hears when the group breaks.
//
// It watches the rendezvous: when the process that hosts it is lost, the group is broken, a gathering that is going on
// ends with that, and so does every later one.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>

namespace troupe {

/// One wish to gather; a thread waits for `ended` and then looks at the rest.
struct gathering {
  group_candidate candidate;
  duration limit;
  completion ended;
  group_roster roster;
  status why;
};

struct participant_options {
  member_identity self;
  rendezvous_actor host;
  /// A group broke: that of this generation, or 0 for whichever there is. Called in the actor.
  std::function<void(std::uint64_t generation, const status& why)> on_broken;
};

class participant_state {
 public:
  static constexpr const char* name = "participant";
  using pointer = participant_actor::stateful_pointer<participant_state>;

  explicit participant_state(pointer self) : self_(self), clock_(self), requests_(self, clock_) {}
  participant_actor::behavior_type make_behavior(participant_options options);

 private:
  void gather(const std::shared_ptr<gathering>& wish);

  pointer self_;
  timers clock_;
  requests requests_;
  participant_options options_;
  /// Why there is no rendezvous any more.
  status host_lost_;
};

participant_actor::behavior_type participant(participant_state::pointer self, participant_options options);

}  // namespace troupe
