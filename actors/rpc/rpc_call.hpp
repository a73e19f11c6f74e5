// One call, as its caller sees it: what it asks, and how it ends.
//
//   OPEN --answer, error, deadline, cancellation, loss of the server--> ENDED
//
// RPC-1 A call ends exactly once, never later than its deadline. Both layers share this; a `channel` is the way to one
// server over one of them.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/rpc/rpc_method.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::rpc {

class call {
 public:
  /// `tag` as in `call_method`; `deadline` on the clock of `current_time`, `never` for no_timeout.
  call(std::string called, std::uint64_t tag, std::vector<datum> with, time_point until)
      : method(std::move(called)), signature(tag), deadline(until), arguments(std::move(with)) {}
  call(const call&) = delete;

  // --- the caller's side, any thread or fiber ---

  bool ended() const { return ended_.load(std::memory_order_acquire); }
  /// Suspends a fiber, blocks a thread. @throws cancelled_error when the fiber is cancelled
  void wait() const;
  /// Only after the end.
  const status& end_status() const { return end_status_; }
  const datum& result() const { return result_; }
  /// Calls `observer` once after the end: now if it has ended, else in the thread that ends it, which it must not hold.
  void on_end(std::function<void()> observer) { completed_.on_set(std::move(observer)); }

  // --- the channel's side ---

  /// False if it had ended already.
  bool finish(status ended, datum result = {});

  const std::string method;
  const std::uint64_t signature;
  const time_point deadline;
  /// The channel takes them.
  std::vector<datum> arguments;
  /// The channel's number for it.
  std::uint64_t id = 0;

 private:
  std::atomic<bool> ended_{false};
  std::atomic<bool> finished_{false};
  status end_status_;
  datum result_;
  mutable completion completed_;
};

using call_ptr = std::shared_ptr<call>;

/// The way to one server. All members from any thread or fiber.
class channel {
 public:
  virtual ~channel() = default;

  /// The server's methods. Waits for the server; suspends a fiber, blocks a thread.
  /// @throws deadline_exceeded_error when it does not come up in time; failed_precondition_error for a server of
  /// another version; resource_exhausted_error when it has too many clients
  virtual std::vector<method_description> list(time_point deadline) = 0;

  /// Begins a call; never blocks, never throws: what is wrong ends the call. A call waits for a server that is not
  /// there (yet, or any more); one that the server had received ends with `unavailable` when the server is lost.
  virtual void start(call_ptr started) = 0;

  /// Begins and waits in one step, for channels that do so with fewer turns. A fiber that is cancelled meanwhile takes
  /// its call along, since nobody else can want the result.
  virtual void perform(const call_ptr& started) {
    start(started);
    try {
      started->wait();
    } catch (...) {
      cancel(started);
      throw;
    }
  }

  /// Its caller does not want it any more: it ends with `cancelled`, and the server is told.
  virtual void cancel(const call_ptr& unwanted) = 0;

  /// Ends all open calls with `cancelled` and the connection. Later calls end at once.
  virtual void close() = 0;
};

}  // namespace troupe::rpc
