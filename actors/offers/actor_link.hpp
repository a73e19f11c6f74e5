// One actor of another member, followed by its name: the state that all copies of an `actor_reference` share.
//
//   SEARCHING --found--> UP --its actor, process or link is lost--> DOWN --found again--> UP
//    ^  '--its member is not there, or offers something else---------^ |
//    '--asked for again, after what no waiting mends-------------------'
//
// The directory of the process says what happens; anybody may look, wait, ask and watch, in any thread.
//
// O-1 A request to a link that is DOWN fails at once, and one that is open when the link goes down fails then: it never
// waits for its limit because of a loss that somebody has noticed.
//
// Problem: in CAF 0.17 the loss of a remote actor ends no request. Solution: a link knows the requests that are open
// over it, by who asked and by the number that CAF gave them, and ends them as CAF's own time-outs do: with an error in
// the place of the answer. That costs two short locks for each request. Since it knows them, it ends those that are
// late, too, with one timer for all of them; CAF sets one for each request and keeps it until it fires.
#pragma once

#include <troupe/actors/fibers/alarms.hpp>
#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/messages/messages.hpp>

#include <caf/actor_addr.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/message_id.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class actor_link : public std::enable_shared_from_this<actor_link> {
 public:
  enum class state { searching, up, down };
  /// Of a request that is open.
  struct place {
    std::size_t number = 0;
    /// Of the links that this one has been, from one loss to the next. Zero: none.
    std::uint64_t life = 0;
  };
  /// Null: `why` says why not.
  struct passage {
    caf::strong_actor_ptr to;
    actor_link::place place;
    status why;
  };
  /// Hears of each change, in any thread.
  using watcher = std::function<void()>;

  actor_link(task_id task, std::string name, actor_interface wanted);
  actor_link(const actor_link&) = delete;

  const task_id& task() const { return task_; }
  const std::string& name() const { return name_; }
  const actor_interface& wanted() const { return wanted_; }
  /// "sensor" on /job:worker/task:0.
  std::string description() const;

  state now() const;
  /// Null unless it is up.
  caf::strong_actor_ptr current() const { return current_and_life().first; }
  /// With the number of this life (`place`), which tells it from where it led before a loss, if only to the same actor.
  std::pair<caf::strong_actor_ptr, std::uint64_t> current_and_life() const;
  /// Why it is not up; ok if it is.
  status why() const;

  /// Waits until the link is known to be up or down. @throws the reason if it is down; deadline_exceeded_error if
  /// nothing is known within `limit`; cancelled_error when the fiber is cancelled.
  caf::strong_actor_ptr await_known(duration limit);
  /// Waits until it is up, also through losses. @throws deadline_exceeded_error with the last reason; at once with a
  /// reason that no waiting mends.
  caf::strong_actor_ptr await_up(duration limit);

  // --- requests ---

  /// For threads and fibers: sends the question and waits for the answer. @throws the actor's error; unavailable_error
  /// when it is down, or lost before it answers; deadline_exceeded_error; cancelled_error when the fiber is cancelled.
  caf::message ask(caf::message question, duration limit);

  /// Takes a place for a request of `self` if the link is up. At the deadline, on the clock of the actor system, `self`
  /// gets CAF's `request_timeout`. Close it with the answer; one that was not given needs none.
  passage open(const caf::strong_actor_ptr& self, caf::message_id answer, time_point deadline = never);
  void close(const place& where);
  /// The same with an error for an answer. If nobody was there to answer, the link falls, so that whoever asks again at
  /// once hears the same; the keeper hears of that end by itself. One that lives may pass such an error on.
  void close(const place& where, const caf::error& failed);

  /// Called for as long as somebody holds it.
  void watch(std::weak_ptr<watcher> listener);
  /// Called once, now or when the link is known to be up or down, in any thread. Returns what `withdraw` needs.
  std::uint64_t once_known(std::function<void()> listener);
  /// Calls the listener early, if it is still here.
  void withdraw(std::uint64_t listener);

  // --- of the directory ---

  /// `keeper` is sent a tick when requests may be late.
  void rise(caf::strong_actor_ptr to, caf::strong_actor_ptr keeper);
  void end_late_requests();
  /// `lasting`: waiting does not help, as for an actor of another interface.
  void fall(status why, bool lasting = false);
  /// Somebody asks for it again. True: it was down for good, and is to be looked for once more.
  bool begin_again();
  /// Says why the search takes so long.
  void note(status why);

 private:
  struct open_request {
    caf::weak_actor_ptr self;
    caf::message_id answer;
    time_point deadline = never;
  };

  class asking;

  caf::strong_actor_ptr await(duration limit, bool through_losses);
  std::unique_ptr<answer_taker> take_taker(caf::actor_system& system);
  void give_back(std::unique_ptr<answer_taker> taker);
  void need_alarm(time_point when);
  void fall(std::unique_lock<std::mutex>& lock, status why, bool lasting);
  void announce(std::unique_lock<std::mutex>& lock);
  void make_room();

  const task_id task_;
  const std::string name_;
  const actor_interface wanted_;
  mutable std::mutex mutex_;
  state state_ = state::searching;
  caf::strong_actor_ptr current_;
  caf::strong_actor_ptr keeper_;
  /// When the keeper will look for late requests.
  alarms alarms_;
  status why_;
  bool lasting_ = false;
  std::uint64_t life_ = 1;
  std::vector<open_request> requests_;
  std::vector<std::size_t> free_;
  /// Of threads and fibers that ask, one after the other.
  std::vector<std::unique_ptr<answer_taker>> takers_;
  std::vector<std::weak_ptr<completion>> waiting_;
  std::vector<std::weak_ptr<watcher>> watchers_;
  std::map<std::uint64_t, std::function<void()>> once_;
  std::uint64_t last_once_ = 0;
};

}  // namespace troupe
