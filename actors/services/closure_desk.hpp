// The chief's desk for closures that other members schedule: takes them to the coordinator, and their ends back.
//
//   ARRIVING --its tensors are here--> WAITING --the queue has room--> OPEN --the closure has ended--> answered, with
//      |                                  |                             |                   its value or its error
//      '----------------------------------'-----------------------------'--cancelled; its member is lost--> given up:
//                                                                         the coordinator is told that nobody wants it
//
// CD-1 Each submission is answered once. CD-2 No closure outlives its owner's interest: those of a member that is lost
// are cancelled.
//
// A submission that finds the coordinator's queue full waits for room here, in its turn, up to its `queue_limit`. No
// more than `waiting_max` do, since they hold their arguments in the chief's memory: the next is refused at once.
#pragma once

#include <troupe/actors/closures/internal/submission_queue.hpp>
#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace troupe {

class closure_desk_state {
 public:
  static constexpr const char* name = "closure_desk";
  using pointer = closure_desk_actor::stateful_pointer<closure_desk_state>;

  explicit closure_desk_state(pointer self) : self_(self), clock_(self), requests_(self, clock_) {}
  ~closure_desk_state();
  closure_desk_actor::behavior_type make_behavior(std::shared_ptr<submission_queue> queue,
                                                  coordinator_actor coordinator);

  /// The coordinator says sooner that no worker runs a closure any more, since it gives up those that do not end
  /// theirs.
  static constexpr duration over_limit = std::chrono::minutes{10};
  /// Submissions that wait for room in the queue.
  static constexpr std::size_t waiting_max = 16'384;

 private:
  using outcome_promise = caf::typed_response_promise<wire<closure_outcome>>;
  /// A member's actor, and its number for one closure.
  using key = std::pair<caf::actor_addr, std::uint64_t>;
  struct submission {
    outcome_promise promise;
    /// Null while it is arriving.
    std::shared_ptr<closure> scheduled;
    /// Among those that wait for room; 0: it does not.
    std::uint64_t place = 0;
    timers::ticket queue_limit;
  };

  caf::result<wire<closure_outcome>> take(std::uint64_t number, wire<closure_submission>& message);
  void schedule(const key& from, closure_submission what);
  void push_waiting();
  bool push(const key& from);
  void stop_waiting(submission& what);
  caf::result<std::string> tell_activity(const key& from, std::int64_t limit_ns);
  void answer(const key& from);
  caf::result<caf::ok_atom> cancel(const key& from);
  void give_up(const key& from, const status& why);
  void keep_until_over(const key& from, std::shared_ptr<closure> what);
  std::shared_ptr<closure> take_out(const key& from, const status& why);
  void lose(const caf::actor_addr& owner, const status& why);

  pointer self_;
  timers clock_;
  requests requests_;
  std::shared_ptr<submission_queue> queue_;
  coordinator_actor coordinator_;
  std::map<key, submission> open_;
  /// Answered, and of which the coordinator has not said that nothing runs any more.
  std::map<key, std::shared_ptr<closure>> ended_;
  /// In the order of their arrival.
  std::map<std::uint64_t, key> waiting_;
  std::uint64_t last_place_ = 0;
  /// The queue says when there may be room.
  bool room_awaited_ = false;
  std::set<caf::actor_addr> owners_;
};

closure_desk_actor::behavior_type closure_desk(closure_desk_state::pointer self,
                                               std::shared_ptr<submission_queue> queue, coordinator_actor coordinator);

}  // namespace troupe
