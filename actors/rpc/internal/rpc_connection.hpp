// A client's connection to its server: dials, is admitted, watches, and comes again when the server was lost.
//
//   DIALLING --door--> ADMITTING --welcome--> READY --link breaks, silence, dismissed, an answer says it--> DIALLING
//
// Calls that were sent end with `unavailable` when READY ends; calls that were not, wait for the next READY until their
// deadlines. A server of another version, or one that has too many clients, refuses: what waits then ends with that,
// and the client goes on trying, more slowly.
//
// Semantics: examples/reference/semantics.md 1.7 (waits for the server, no retries).
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/membership/failure_detector.hpp>
#include <troupe/actors/rpc/internal/rpc_call_table.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::rpc {

/// Who waits for the server's methods, from any thread.
class method_listing {
 public:
  /// Suspends a fiber, blocks a thread. @throws what the server refuses with; deadline_exceeded_error with `what`
  std::vector<method_description> await(time_point deadline, std::string_view what);
  /// The methods, or why they can't be had; as long as nothing is set, `await` waits.
  void set(std::vector<method_description> methods);
  void set(status refused);
  /// Why the last attempt to connect failed: what `await` says when its deadline passes.
  void note(status failed);
  /// The connection is lost: `await` waits again.
  void reset();

 private:
  std::shared_ptr<completion> known() const;

  mutable std::mutex mutex_;
  std::shared_ptr<completion> known_ = std::make_shared<completion>();
  std::vector<method_description> methods_;
  status refused_;
  status failed_;
};

struct connection_options {
  dialer_actor dialer;
  std::string host;
  std::uint16_t port = 0;
  std::string name;
  liveness silence;
  std::shared_ptr<call_table> calls;
  std::shared_ptr<method_listing> methods;
  reply_sink inbox;
  duration dial_limit = std::chrono::seconds{2};
  duration dial_retry = std::chrono::milliseconds{50};
  duration refusal_retry = std::chrono::seconds{1};
};

class connection_state {
 public:
  static constexpr const char* name = "rpc_client";
  using pointer = connection_actor::stateful_pointer<connection_state>;

  explicit connection_state(pointer self) : self_(self), clock_(self), requests_(self, clock_) {}
  ~connection_state();
  connection_actor::behavior_type make_behavior(connection_options options);

 private:
  void dial();
  void admit(const door_actor& door);
  void ready(const std::vector<executor_actor>& executors, const server_welcome& terms);
  void failed(const status& why);
  /// The server has ended the session.
  void dismissed();
  void lost(const status& why);
  void watch_deadlines();

  pointer self_;
  timers clock_;
  requests requests_;
  connection_options options_;
  failure_detector_actor detector_;
  door_actor door_;
  /// 0 unless READY.
  std::uint64_t session_ = 0;
  timers::ticket wake_;
};

connection_actor::behavior_type connection(connection_state::pointer self, connection_options options);

}  // namespace troupe::rpc
