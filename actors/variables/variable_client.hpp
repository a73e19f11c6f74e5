// One actor's way to the variables on all servers.
//
// Operations that an actor's fibers start in one turn leave together: one message per shard and turn, so that many
// small operations cost few messages; several if they, or what they read, are large (`batch_bytes_max`). Each group of
// operations ends as a whole: all outcomes, or its deadline.
//
// There is a link to each server, and over it one to each shard in use. Both are the same machine:
//
//            wanted               answered
//     IDLE ---------> CONNECTING ----------> READY
//      ^                  |  ^                 |
//      |           failed |  | dial_retry      | broken
//      |                  v  |                 |
//      |                 PAUSING <-------------/
//      \__ not wanted any more (from each state)
//
//                      server link                               shard link
//     wanted           the view says that it is present          its server is READY and operations are unsent
//     CONNECTING       dials the process, asks for its server    asks the server for the shard
//     failed           either does not answer in time            it does not answer in time: breaks the server's link
//                                                                (there is no such shard: IDLE, its operations fail)
//     broken           the server is down or does not answer     an error or no answer in time, one that can't be
//                      a ping, a shard's failed                  fetched, or the shard is down
//     not wanted       absent, or another incarnation: all       the server's link leaves READY
//                      operations fail with `unavailable`
//
//     operation:  UNSENT --its shard READY--> SENT --answered--> ended (its deadline ends it in any state)
//                    ^___ the link leaves READY _|
//
// `enter` is the only place where a link changes its state. Each state that is entered has a number, higher than all
// before; answers and timers carry the number of the state that they were started in and do nothing if it is over.
//
// V-1 Operations on one shard are applied in one order, each exactly once for an acknowledged request; those of one
// client in the order of their submission.
//   The client's half:
//   - An operation has a number, higher than those of all earlier ones, and keeps it when it is sent again.
//   - Each READY state of a shard link has a number, which goes with each batch. Over a new one goes first, in its
//     order, what was sent and not acknowledged, then what is new.
//   - A batch says which numbers are still open: nothing below is sent again, as it is acknowledged or its deadline is
//     over.
//   - Only an answer that is there as a whole, to a batch of the present link, acknowledges. Everything else breaks the
//     link, and an operation that was tried and not acknowledged was applied once or not at all. What one end can't
//     read whenever it comes (over a limit) is no broken link: its operations end with that error.
//   The shard's half (parameter_server.cpp):
//   - It knows clients by the random number of each, wherever they are. Batches of one link are applied in the order of
//     their sending, however late their tensors arrive (inbox.hpp). A batch that can't be fetched breaks its link: what
//     comes after it on this link is refused.
//   - The first batch of a newer link ends the older: what waits there is refused, and what still comes over it, too.
//   - It remembers the outcomes of changes that are open, by number, and answers from there what comes again. A change
//     that it has no room to remember is refused, not applied.
//   - It forgets whom it has not heard for an hour (`client_silence_max`), and refuses what such a client repeats
//     (client_memory.hpp). An operation is repeated until its limit is over, 30 s unless its caller says otherwise, so
//     only what has a limit of more than an hour can end like that.
//   - It refuses what is meant for another shard, or for another life of its server (M-2).
//   - It refuses what comes of a worker's session that the chief has ended (session_gate.hpp): a worker that was given
//     up may be alive behind a broken link, and its closures begin again elsewhere after that (C-3).
//
// What does not hold: what a closure wrote before its worker was lost counts beside what it writes when it runs again:
// its effects on variables happen at least once. Closures that must not be counted twice write results that don't
// depend on how often they are written (`assign`), or return them to the chief, where each counts once.
//
// Belongs to one actor; see client.hpp for threads that are no actors.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/variable_operations.hpp>

#include <caf/actor_addr.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/typed_actor.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

inline const status session_over{status_code::cancelled, "the worker's session with its coordinator has ended"};

/// Operations that are performed at the same time and end together. Made by the caller, filled by the client.
class operation_group {
 public:
  operation_group(std::vector<shard_request> wanted, duration at_most)
      : requests(std::move(wanted)),
        outcomes(requests.size()),
        limit(at_most),
        missing(requests.size()),
        ended(requests.size(), false) {}

  std::vector<shard_request> requests;
  std::vector<operation_outcome> outcomes;
  duration limit;
  /// Called once, in the client's actor, when no outcome is missing any more.
  std::function<void()> done;

  // The client's own.
  time_point ends{};
  std::size_t missing;
  std::vector<bool> ended;
  timers::ticket deadline;
};

/// What a worker offers to the closures in its fibers.
class closure_environment : public fiber_environment {
 public:
  virtual class variable_client& variables() = 0;
  /// The same for replicas that the closure starts: they are other actors.
  virtual client_ptr variables_of_replicas() = 0;
  virtual int worker_index() const = 0;
  /// Something that is kept as long as the worker, by the address of its key; empty at first.
  virtual std::shared_ptr<void>& worker_local(const void* key) = 0;
  /// Whether this coordinator has sent the closures here.
  virtual bool runs_for(const caf::actor_addr&) const { return false; }
  /// The running closure begins and ends to wait for another one: its place is free for others meanwhile.
  /// @throws resource_exhausted_error when too many do.
  virtual void begin_wait_for_closure(std::shared_ptr<const closure> /*other*/) {}
  virtual void end_wait_for_closure() {}
  /// The environment of the closure that runs here, or nullptr.
  static closure_environment* current();
};

class variable_client {
 public:
  /// `fibers`, if given, wait for operations: those that one answer ends go on in one turn, so that what they do next
  /// leaves together again.
  variable_client(caf::scheduled_actor* self, timers& clock, dialer_actor dialer, variable_client_options options,
                  fiber_host* fibers = nullptr);
  ~variable_client();

  /// Takes the group in; `flush` sends. `group->done` may be called before this returns.
  void submit(const std::shared_ptr<operation_group>& group);
  /// What comes from now on belongs to this session of a worker, and what is open to one that is over: it ends.
  void begin_session(session_id session);
  /// Everything ends with this, and what is submitted from now on, too.
  void close(const status& why);
  /// Sends what was submitted since the last flush. At the end of each turn.
  void flush();
  void take_view(const cluster_view& view);
  /// A monitored actor died. True if it was a server's, or a shard.
  bool down(const caf::actor_addr& who, const status& why);

  const variable_client_options& options() const { return options_; }

 private:
  struct entry {
    std::shared_ptr<operation_group> group;
    std::size_t index = 0;
    std::uint64_t sequence = 0;
  };
  enum class link_state : std::uint8_t { idle, connecting, ready, pausing };
  struct link_machine {
    link_state at = link_state::idle;
    /// Of the state.
    link_number number = 0;
    /// What failed last, for the operations whose deadline passes.
    status problem;
  };
  struct shard_link : link_machine {
    shard_actor handle;
    std::vector<entry> unsent;
    /// In order: batch number to entries.
    std::map<std::uint64_t, std::vector<entry>> sent;
  };
  struct server_link : link_machine {
    member_record record;
    /// The incarnations that it was seen in, the latest last.
    std::deque<std::uint64_t> lives;
    parameter_server_actor handle;
    std::map<std::uint64_t, shard_link> shards;
    /// The last answer to anything.
    time_point heard{};
    /// A look at whether it answers is due, or a ping is under way.
    bool watched = false;
  };
  /// Finds a shard link again.
  struct shard_key {
    int server = 0;
    std::uint64_t shard = 0;
    /// Of the state that the link must still be in.
    link_number number = 0;
  };

  /// Why it can't have what is kept in its incarnation `wanted`; ok if it can.
  static status lost(const server_link& server, std::uint64_t wanted);
  void enter(server_link& server, link_state next);
  void enter(server_link& server, std::uint64_t id, link_state next);
  server_link* in_state(int index, link_number number);
  shard_link* in_state(const shard_key& key);
  void break_off(const shard_key& key, const status& why);
  status too_late(const operation_group& group, const shard_address& where) const;

  void dial(const server_link& server);
  void find(const server_link& server, std::uint64_t id);
  void not_found(const shard_key& key, const status& why);
  void send(int index, std::uint64_t id);
  void send_postponed();
  void send(server_link& server, std::uint64_t id, shard_link& shard);
  void send_batch(server_link& server, std::uint64_t id, shard_link& shard, std::vector<entry> entries);
  void take_answer(const shard_key& key, std::uint64_t batch, wire<outcome_batch>& answer);
  void acknowledge(const shard_key& key, std::uint64_t batch, outcome_batch answer);
  void take_back(shard_link& shard);
  duration time_left(const std::vector<entry>& entries) const;
  void watch(server_link& server, duration until);
  void look_after(int index, link_number number);

  void take_record(const member_record& record);
  void fail(server_link& server, const status& why);
  void fail(shard_link& shard, const status& why);
  void fail_others(server_link& server);
  void finish(const entry& which, operation_outcome outcome);

  caf::scheduled_actor* self_;
  timers& clock_;
  requests requests_;
  dialer_actor dialer_;
  variable_client_options options_;
  fiber_host* fibers_;
  client_id client_;
  session_id session_ = 0;
  /// Why it takes nothing any more.
  status closed_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t last_batch_ = 0;
  link_number last_state_ = 0;
  std::map<int, server_link> servers_;
  /// Those that are READY.
  std::map<caf::actor_addr, shard_key> shards_;
  std::vector<std::pair<int, std::uint64_t>> dirty_;
  /// Shards with unsent operations, while too many requests are open.
  std::deque<std::pair<int, std::uint64_t>> postponed_;
};

}  // namespace troupe
