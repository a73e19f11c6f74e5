// Judges peers by silence.
//
// CAF notices a closed connection in a millisecond but a frozen or cut-off peer never. The detector pings each peer it
// watches and tells its owner `suspect` once: at once when the peer's link breaks, or when nothing was heard for
// `silence_max`. It forgets the peer then; the owner decides when to watch it again.
//
// A detector that was itself frozen would suspect everybody on waking: it sees its own late tick and starts counting
// anew. All times are the actor clock's.
#pragma once

#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/membership/failure_detector_options.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>

namespace troupe {

class failure_detector_state {
 public:
  static constexpr const char* name = "failure_detector";
  using pointer = failure_detector_actor::stateful_pointer<failure_detector_state>;

  explicit failure_detector_state(pointer self) : self_(self), clock_(self), requests_(self, clock_) {}
  failure_detector_actor::behavior_type make_behavior(suspicion_listener owner, failure_detector_options options);

 private:
  struct watched {
    pingable_actor peer;
    time_point last_heard{};
  };

  void tick();
  void ping(std::uint64_t key, watched& peer);
  void suspect(std::uint64_t key, const status& why);

  pointer self_;
  timers clock_;
  requests requests_;
  suspicion_listener owner_;
  failure_detector_options options_;
  std::map<std::uint64_t, watched> watched_;
  time_point last_tick_{};
  std::uint64_t pings_ = 0;
};

failure_detector_actor::behavior_type failure_detector(failure_detector_state::pointer self, suspicion_listener owner,
                                                       failure_detector_options options);

}  // namespace troupe
