// Takes closures that are scheduled on a member to the chief's desk, and their ends to their remote values.
//
//   schedule() --> queue --> WAITS for its inputs, and for the chief --> SENT --answered, the chief is lost--> ended
//                               '------------------------------------------'--its limit, its cancellation--> ended
//
// The remote values are the same as the chief's, and so is the queue that `schedule` leaves closures in: it counts what
// has not ended, and refuses what comes after the member's end. A closure is submitted once: when the link to the chief
// is lost, it fails with `unavailable`, since nobody here knows whether it has run. Where there is no chief (own hosts
// of a simulation) it fails at once.
//
// A cancelled closure has ended here at once; who asks whether it runs still is answered by the chief.
#pragma once

#include <troupe/actors/closures/internal/submission_queue.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/actor_reference.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

namespace troupe {

class closure_courier_state {
 public:
  static constexpr const char* name = "closure_courier";
  using pointer = closure_courier_actor::stateful_pointer<closure_courier_state>;

  explicit closure_courier_state(pointer self) : self_(self), clock_(self) {}
  ~closure_courier_state();
  closure_courier_actor::behavior_type make_behavior(std::shared_ptr<submission_queue> queue,
                                                     actor_reference<closure_desk_actor> desk);

 private:
  using closure_ptr = std::shared_ptr<closure>;
  struct delivery {
    closure_ptr what;
    timers::ticket deadline;
    /// Its inputs are there.
    bool ready = false;
    bool sent = false;
  };

  void take_submitted();
  void take(closure_ptr scheduled);
  void end_by(delivery& one, time_point deadline);
  void send_when_ready(const closure_ptr& what);
  void send_waiting();
  void send(const closure_ptr& what);
  void take_answer(const closure_ptr& what, wire<closure_outcome>& answer);
  wire<closure_submission> submission_of(const closure& what, duration left) const;
  caf::result<std::string> tell_activity(const closure* which, duration limit);
  status limit_is_over(const closure& late) const;
  void cancel(const closure& what, const status& why);
  caf::result<caf::ok_atom> when_over(const closure& ended);
  void end(const closure& what, status ended, value result = {});

  pointer self_;
  timers clock_;
  std::shared_ptr<submission_queue> queue_;
  actor_reference<closure_desk_actor> desk_;
  /// Of `once_known`.
  std::uint64_t known_ = 0;
  std::unordered_map<const closure*, delivery> open_;
  std::vector<closure_ptr> arrived_;
  std::uint64_t last_number_ = 0;
};

closure_courier_actor::behavior_type closure_courier(closure_courier_state::pointer self,
                                                     std::shared_ptr<submission_queue> queue,
                                                     actor_reference<closure_desk_actor> desk);

}  // namespace troupe
