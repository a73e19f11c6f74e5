// Runs the methods of a server as fibers of one actor, many at once.
//
//   call: ARRIVING --its tensors are there--> WAITING --a place is free--> RUNNING --returns, throws--> answered
//            \__________________________________\_ deadline, cancellation, its client is gone, the server stops _/
//
// A method that waits (for a variable, a remote value, another call) lets others run. Methods of one executor never run
// at the same time on two threads; a server with several executors runs them on as many threads. The actor is spawned
// detached, since methods may compute for long.
//
// RPC-2 Each call is answered exactly once, whatever happens; a method whose call is over is cancelled: its next wait
// throws. RPC-3 A call costs nothing after its deadline, whoever made it: while it waits it is dropped, while it runs
// it is cancelled.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/internal/lookout.hpp>
#include <troupe/actors/rpc/internal/rpc_admission.hpp>
#include <troupe/actors/rpc/internal/rpc_reply_batches.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/actors/values/inbox.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace troupe::rpc {

struct executor_options {
  std::shared_ptr<const method_table> methods;
  /// Shared by all executors of a server.
  std::shared_ptr<admission> admitted;
  limits bounds;
  fiber_host::options fibers;
  /// How long the executor starts calls before it looks at its mailbox.
  duration turn_budget = std::chrono::milliseconds{1};
  inbox_limits inbox;
};

class executor_state {
 public:
  static constexpr const char* name = "rpc_executor";
  using pointer = executor_actor::stateful_pointer<executor_state>;

  explicit executor_state(pointer self) : self_(self), clock_(self), replies_(self), lookout_(self, clock_) {}
  ~executor_state();

  executor_actor::behavior_type make_behavior(executor_options options);

 private:
  /// Whose call, and its id there.
  using call_key = std::pair<std::uint64_t, std::uint64_t>;
  struct open_call {
    incoming_call_ptr what;
    timers::ticket deadline;
    bool running = false;
  };

  void take_orders(std::uint64_t session, const reply_sink& sink, call_orders orders);
  void take(incoming_call_ptr arrived);
  status admit(const incoming_call& arrived);
  void start_some();
  void run(std::uint64_t number);
  void cancel(const call_key& which, const status& why);
  void cancel_client(std::uint64_t client, const status& why);
  void end_early(std::uint64_t number, const status& why);
  void pass_over();
  void end(std::uint64_t number, const status& ended, datum result);
  void stop(const status& why);

  pointer self_;
  timers clock_;
  reply_batches replies_;
  executor_options options_;
  /// Why nothing is taken any more.
  status stopped_;
  std::uint64_t last_number_ = 0;
  /// Calls whose tensors are under way.
  std::optional<inbox<call_key>> arriving_;
  std::unordered_map<std::uint64_t, open_call> open_;
  std::map<call_key, std::uint64_t> numbers_;
  /// Calls that have ended meanwhile are passed over in their turn.
  std::deque<std::uint64_t> waiting_;
  std::size_t passed_over_ = 0;
  std::size_t running_ = 0;
  lookout lookout_;
  bool yielding_ = false;
  /// Last, so that it goes first: fibers that are cancelled then still use the rest.
  std::unique_ptr<fiber_host> fibers_;
};

executor_actor::behavior_type executor(executor_state::pointer self, executor_options options);

}  // namespace troupe::rpc
