// The open calls of a client, shared by the threads that make them, the thread that brings answers, and the client's
// actor.
//
// Problem: a call that went through an actor on its way out and on its way back would wake two threads more than a bare
// request. Solution: the thread that calls sends the message itself while few calls are open, and the thread that
// brings an answer ends the call. The actor (rpc_connection.hpp) comes in for what needs one: connecting, deadlines,
// the loss of the server, and messages with many calls when many are open.
//
//   call: UNSENT --connected--> SENT --answer--> ended
//            \--------------------\-- deadline, cancellation, close, too many --> ended
//                                  \-- the server is lost --> ended
//
// RPC-1 holds because each call leaves the table exactly once, under its lock, and whoever takes it out ends it.
#pragma once

#include <troupe/actors/rpc/rpc_call.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe::rpc {

class call_table {
 public:
  struct options {
    limits bounds;
    /// For messages: "the server 127.0.0.1:4000".
    std::string server;
    /// The clock of the client's actor.
    std::function<time_point()> now;
    /// Tells the client's actor that `flush` and `expire` have something to do, or that its session is over. Any
    /// thread.
    std::function<void()> wake;
    /// Where answers go.
    reply_sink inbox;
  };

  explicit call_table(options chosen) : options_(std::move(chosen)) {}
  call_table(const call_table&) = delete;

  // --- any thread ---

  void start(const call_ptr& started);
  void cancel(const call_ptr& unwanted);
  void take_replies(call_replies replies);
  /// A message with the answer of this call was lost on its way.
  void fail(std::uint64_t id, const status& why);
  /// Ends every call, and every later one, with `why`.
  void close(const status& why);

  /// As the server's welcome says.
  bool tensors_where_dialled() const { return tensors_where_dialled_.load(std::memory_order_relaxed); }

  // --- the client's actor ---

  /// Calls go to these executors from now on.
  void connected(std::vector<executor_actor> executors, const server_welcome& terms);
  /// The last session of which the server has said, by an answer, that it is over.
  std::uint64_t session_over() const;
  /// Ends what was sent.
  void disconnected(const status& why);
  /// Ends what waits for a connection that can't be had.
  void refuse(const status& why);
  void flush();
  /// Ends what is over its deadline; returns the next one, which the actor wakes for.
  time_point expire(time_point now);

  std::size_t size() const;

 private:
  struct entry {
    call_ptr what;
    std::multimap<time_point, std::uint64_t>::iterator deadline;
    bool sent = false;
  };
  struct ending {
    call_ptr what;
    status why;
    datum result;
  };
  using lock = std::unique_lock<std::mutex>;
  /// Few enough for each to be sent by the thread that makes it.
  static constexpr std::size_t direct_calls_max = 4;

  status admit() const;
  call_ptr take_out(std::uint64_t id);
  template <class Predicate>
  std::vector<ending> take_out_if(Predicate predicate, const status& why);
  static void end(std::vector<ending> ended);
  const executor_actor& executor_of(std::uint64_t id) const { return executors_[id % executors_.size()]; }
  call_order order_of(call& what) const;
  void send(const executor_actor& to, std::uint64_t session, std::vector<call_ptr> calls);

  const options options_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, entry> open_;
  std::multimap<time_point, std::uint64_t> deadlines_;
  std::vector<call_ptr> unsent_;
  bool flush_asked_ = false;
  time_point wakes_at_ = never;
  std::uint64_t last_id_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t session_over_ = 0;
  std::vector<executor_actor> executors_;
  std::size_t calls_max_ = 0;
  std::size_t request_bytes_max_ = 0;
  std::atomic<bool> tensors_where_dialled_ = false;
  status closed_;
};

}  // namespace troupe::rpc
