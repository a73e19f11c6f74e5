// The chief's desk for closures that other members schedule: takes them to the coordinator, and their ends back.
//
//   ARRIVING --its tensors are here--> OPEN --the closure has ended--> answered, with its value or its error
//      '-------------'--cancelled; its member is lost--> given up: the coordinator is told that nobody wants it
//
// CD-1 Each submission is answered once. CD-2 No closure outlives its owner's interest: those of a member that is lost
// are cancelled.
//
// The queue of the coordinator is the only limit: a submission that finds it full is refused at once, since nobody may
// wait here.
#pragma once

#include <troupe/actors/closures/internal/submission_queue.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <map>
#include <memory>
#include <set>
#include <utility>

namespace troupe {

class closure_desk_state {
 public:
  static constexpr const char* name = "closure_desk";
  using pointer = closure_desk_actor::stateful_pointer<closure_desk_state>;

  explicit closure_desk_state(pointer self) : self_(self) {}
  ~closure_desk_state();
  closure_desk_actor::behavior_type make_behavior(std::shared_ptr<submission_queue> queue,
                                                  coordinator_actor coordinator);

 private:
  using value_promise = caf::typed_response_promise<wire<value>>;
  /// A member's actor, and its number for one closure.
  using key = std::pair<caf::actor_addr, std::uint64_t>;
  struct submission {
    value_promise promise;
    /// Null while it is arriving.
    std::shared_ptr<closure> scheduled;
  };

  caf::result<wire<value>> take(std::uint64_t number, wire<closure_submission>& message);
  void schedule(const key& from, closure_submission what);
  void answer(const key& from);
  void give_up(const key& from, const status& why);
  void lose(const caf::actor_addr& owner, const status& why);

  pointer self_;
  std::shared_ptr<submission_queue> queue_;
  coordinator_actor coordinator_;
  std::map<key, submission> open_;
  std::set<caf::actor_addr> owners_;
};

closure_desk_actor::behavior_type closure_desk(closure_desk_state::pointer self,
                                               std::shared_ptr<submission_queue> queue, coordinator_actor coordinator);

}  // namespace troupe
