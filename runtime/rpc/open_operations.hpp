// What is open on one connection of the layer "grpc": a gate that operations pass, that is closed, and that is waited
// for.
//
//   enter --> open --gRPC has called back for the last time: leave()--> leaving --destroyed--> out
//                                                            its place is free     it counts until here
//
// Problem: an operation holds a part of gRPC's connection, so the connection must outlive it; but the last thing that
// happens to an operation is a callback on a thread of gRPC, which must not be the one that ends the connection (it
// would wait for itself). Solution: the connection is owned by one object alone (grpc_connection), which waits at this
// gate before it ends; operations own nothing of it, and are counted until they are destroyed.
//
// G-2 A gate that was left by the last operation after its close is not touched again by that operation.
//
// A private header: gRPC is no part of troupe's interface.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/rpc/rpc_call.hpp>
#include <troupe/rpc.grpc.pb.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <grpcpp/client_context.h>

namespace troupe::rpc {

/// A call, or the question for the list of methods, from its begin to its end.
struct grpc_operation {
  explicit grpc_operation(std::string called, call_ptr started = nullptr)
      : method(std::move(called)), what(std::move(started)) {}

  const std::string method;
  /// Not for the list.
  const call_ptr what;
  ::grpc::ClientContext context;
  v1::CallRequest request;
  v1::CallReply reply;
  v1::ListReply methods;
  ::grpc::Status ended;
  /// Why gRPC did not reach the server before the deadline, if that is known. Only of the list.
  status unreached_because;
  /// Only of the list.
  completion completed;
};
using grpc_operation_ptr = std::shared_ptr<grpc_operation>;

/// All members from any thread.
class open_operations {
 public:
  /// At most so many at the same time.
  explicit open_operations(std::size_t places) : places_(places) {}
  /// The gate is closed, and left by all.
  ~open_operations();
  open_operations(const open_operations&) = delete;

  enum class refusal { none, closed, full };
  /// Keeps the operation and gives it a number, from 1.
  refusal enter(const grpc_operation_ptr& started, std::uint64_t& number);

  /// An operation on its way out. Its end destroys the operation; the gate may be gone afterwards.
  class leaving {
   public:
    leaving(open_operations& gate, grpc_operation_ptr ended) : gate_(gate), ended_(std::move(ended)) {}
    ~leaving();
    leaving(const leaving&) = delete;

    grpc_operation& operator*() const { return *ended_; }

   private:
    open_operations& gate_;
    grpc_operation_ptr ended_;
  };
  /// gRPC is done with it: its place is free, before anybody hears of its end and begins another one.
  leaving leave(std::uint64_t number);

  /// Nullptr if it is not open.
  grpc_operation_ptr find(std::uint64_t number) const;
  std::size_t places() const { return places_; }

  /// Nothing enters any more. What is open, for the first who closes.
  std::vector<grpc_operation_ptr> close();
  bool is_closed() const;
  /// Whether all have left, at the latest after `limit`. Blocks the thread, even inside a fiber.
  bool wait_until_empty(duration limit = duration::max()) const;

 private:
  bool empty() const { return open_.empty() && leaving_ == 0; }

  const std::size_t places_;
  mutable std::mutex mutex_;
  /// Null while nobody waits.
  mutable std::shared_ptr<completion> emptied_;
  bool closed_ = false;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::uint64_t, grpc_operation_ptr> open_;
  std::size_t leaving_ = 0;
};

}  // namespace troupe::rpc
