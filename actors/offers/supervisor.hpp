// Watches over actors of the application on a member: starts them, restarts those that fail, and gives up.
//
//                                .--(policy: it, or the others, too, are ended; the pause)--.
//                                v                                                          |
//   IDLE --its first message--> SERVING --a child fails, restarts_max not reached----> RESTARTING
//    |                           |   '----a child fails once more---> GIVING UP --all have ended--> its failure, ended
//    |                           |                                        |
//    '---------- it is told to end, by its member at the latest ----------'--> ENDING --all have ended--> ended
//
// With `one_for_one` each child restarts on its own while the supervisor serves.
//
// A child fails when its actor, or another one that was spawned with the child's `here`, ends by an error, or its
// function throws. One that ends otherwise (`exit_reason::normal`, `user_shutdown`) has done its work and stays ended:
// what Erlang calls transient. The pauses and the limit are in supervision.hpp.
//
// What it gave up for names the child, the count, the time and the last reason. It ends by that, so that an outer
// supervisor restarts it; one without an outer one has its member fail, unless `on_giving_up` is there: a process of
// its own ends in order with an exit code of its own (runtime/run.hpp), which a launcher takes for a crash; inside the
// chief's process the program ends, or `cluster_options::on_failure` is called; in a simulation the task's process
// ends.
//
// V-1 Children start in the order of their list, and end in the reverse one; each is waited for before the next.
// V-2 A name leads to one life of a child: what the last one has spawned has ended, or was left behind after its limit,
// without its names and with a word in the log, before the next one starts.
// V-3 Nothing starts once the member's end, or the supervisor's own, has begun.
// V-4 When the supervisor has ended, by whatever means, each of its actors was told to.
#pragma once

#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/offers/child_scope.hpp>
#include <troupe/actors/offers/orderly_end.hpp>
#include <troupe/actors/offers/supervision.hpp>

#include <caf/actor_addr.hpp>
#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct supervisor_plan {
  std::shared_ptr<member_context> context;
  /// Somebody else hears of its failure.
  bool is_nested = false;
  supervision_options options;
  std::vector<supervised_child> children;
};

class supervisor_state {
 public:
  static constexpr const char* name = "supervisor";
  using pointer = caf::stateful_actor<supervisor_state>*;

  explicit supervisor_state(pointer self) : self_(self), clock_(self) {}
  ~supervisor_state();
  caf::behavior make_behavior(supervisor_plan plan);

 private:
  enum class phase { idle, serving, restarting, giving_up, ending };
  /// Failures that follow each other.
  struct streak {
    int failures = 0;
    time_point last_start{};
  };
  struct child {
    supervised_child what;
    /// Null: it does not run.
    std::shared_ptr<child_scope> scope;
    caf::actor_addr actor;
    streak failing;
    timers::ticket restart;
  };
  using continuation = std::function<void()>;

  void start_all();
  void start(child& which);
  void down(const caf::down_msg& what);
  void failed(child& which, const status& why);
  bool is_once_too_many(time_point now);
  duration pause_after(int failures) const;
  void give_up(const child& which, const status& why);
  void escalate(const status& why);
  void end_child(child& which, continuation then);
  void end_all(phase next, continuation then);
  std::deque<caf::actor> take_all();
  void end(std::deque<caf::actor> actors, continuation then);
  void leave_behind(const caf::actor& stuck);
  std::string description(const child& which) const;
  void report(const std::string& line) const;

  pointer self_;
  timers clock_;
  supervisor_plan plan_;
  phase phase_ = phase::idle;
  /// In the order of their list; none moves.
  std::vector<child> children_;
  /// With `one_for_all`, of all together.
  streak failing_;
  /// When something failed and was, or will be, restarted: not longer ago than `within`.
  std::deque<time_point> restarts_;
  std::list<orderly_end> ends_;
};

caf::behavior supervisor(supervisor_state::pointer self, supervisor_plan plan);

}  // namespace troupe
