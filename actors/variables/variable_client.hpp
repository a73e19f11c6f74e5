// One actor's way to the variables on all servers.
//
// Operations that an actor's fibers start in one turn leave together: one message per shard and turn, so that many
// small operations cost few messages. Each group of operations ends as a whole: all outcomes, or its deadline.
//
// A link to a server that breaks is dialled again and what was not acknowledged is sent again; the shard recognises
// what it has applied (V-1). That goes on until the operation's deadline, or until the view says that the server is
// lost or is another incarnation, which no longer holds the variable: then everything for it fails with `unavailable`.
//
//   server link:  UNKNOWN --view: present--> DIALLING --server's handle--> READY --down--> DIALLING ...
//                    ^------------ view: absent, or a new incarnation -------'
//
// Belongs to one actor; see client.hpp for threads that are no actors.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <caf/actor_addr.hpp>
#include <caf/scheduled_actor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct variable_client_options {
  /// How long an operation may take, retries included, unless its caller says otherwise.
  duration operation_limit = std::chrono::seconds{30};
  duration dial_limit = std::chrono::seconds{2};
  duration dial_retry = std::chrono::milliseconds{50};
};

struct shard_request {
  shard_address where;
  shard_operation operation;
};

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
  std::size_t missing;
  std::vector<bool> ended;
  timers::ticket deadline;
};

/// What a worker offers to the closures in its fibers.
class closure_environment : public fiber_environment {
 public:
  virtual class variable_client& variables() = 0;
  /// The same for replicas that the closure starts: they are other actors.
  virtual client_actor variables_of_replicas() = 0;
  virtual int worker_index() const = 0;
  /// Something that is kept as long as the worker, by the address of its key; empty at first.
  virtual std::shared_ptr<void>& worker_local(const void* key) = 0;
  /// Whether this coordinator has sent the closures here.
  virtual bool runs_for(const caf::actor_addr&) const { return false; }
  /// The running closure begins and ends to wait for another one: its place is free for others meanwhile.
  /// @throws resource_exhausted_error when too many do.
  virtual void begin_wait_for_closure() {}
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
  /// Sends what was submitted since the last flush. At the end of each turn.
  void flush();
  void take_view(const cluster_view& view);
  /// A monitored actor died. True if it was a server's.
  bool down(const caf::actor_addr& who, const status& why);

  const variable_client_options& options() const { return options_; }

 private:
  struct entry {
    std::shared_ptr<operation_group> group;
    std::size_t index = 0;
    std::uint64_t sequence = 0;
  };
  struct shard_link {
    shard_actor handle;
    bool finding = false;
    bool retry = false;
    std::vector<entry> unsent;
    /// Sent and not acknowledged, in order: batch number to entries.
    std::map<std::uint64_t, std::vector<entry>> unacknowledged;
  };
  struct server_link {
    member_record record;
    parameter_server_actor handle;
    bool dialling = false;
    std::map<std::uint64_t, shard_link> shards;
  };

  void fail(server_link& server, const status& why);
  void fail(shard_link& shard, const status& why);
  void fail_others(server_link& server);
  void finish(const entry& which, operation_outcome outcome);
  void send(int index, std::uint64_t id);
  void acknowledge(server_link& server, std::uint64_t id, std::uint64_t batch, const status& problem,
                   outcome_batch answer);
  server_link* link_of(int index, std::uint64_t incarnation);
  void dial(int index);
  void connected(int index, server_link& server, const parameter_server_actor& handle);
  void find(int index, std::uint64_t id);
  void disconnect(server_link& server);

  caf::scheduled_actor* self_;
  timers& clock_;
  requests requests_;
  dialer_actor dialer_;
  variable_client_options options_;
  fiber_host* fibers_;
  std::uint64_t client_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t last_batch_ = 0;
  std::map<int, server_link> servers_;
  std::vector<std::pair<int, std::uint64_t>> dirty_;
};

}  // namespace troupe
