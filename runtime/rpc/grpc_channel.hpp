// A client's end of the layer "grpc": one connection to one server, with any number of calls on it.
//
// gRPC waits for the server, finds it again after a loss, and watches deadlines; troupe's part is to translate, to
// count, and to end things in order. A call that begins in the moment in which gRPC notices a loss may end with
// `unavailable`: nobody knows then whether the server has received it.
//
// Who owns what: the channel, which the client's handles and open results share, owns the connection alone; the
// connection owns the gate that its operations pass (open_operations.hpp, G-2). When the channel is dropped, the
// connection is closed and waits at its gate: on the thread that dropped it, or, where that is a thread of gRPC (an
// observer of a call may be the last who holds the channel), on the reaper's.
//
// A private header: gRPC is no part of troupe's interface.
#pragma once

#include <troupe/rpc.grpc.pb.h>
#include <troupe/runtime/rpc/open_operations.hpp>
#include <troupe/runtime/rpc/rpc_layer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>

namespace troupe::rpc {

class grpc_connection {
 public:
  explicit grpc_connection(const channel_options& options);

  const std::string& server() const { return server_; }
  v1::Rpc::Stub& stub() { return *stub_; }

  /// Not on a thread of gRPC: waits until all operations have left.
  ~grpc_connection();
  grpc_connection(const grpc_connection&) = delete;

  open_operations& operations() { return operations_; }
  /// Lets the operation in. Not ok: the connection is closed, or a limit is reached.
  status begin(const grpc_operation_ptr& started, std::uint64_t& number);

  /// Fills the request; what is wrong with it.
  status prepare(grpc_operation& started) const;
  /// Ends the operation's call as gRPC says it ended.
  void finish(grpc_operation& ended) const;
  /// A status that gRPC or the server has made.
  status explain(const grpc_operation& ended) const;

 private:
  /// An operation that `waits` does so until gRPC reaches the server, or its deadline.
  void prepare_context(::grpc::ClientContext& context, time_point deadline, bool waits = true) const;
  friend class grpc_channel;

  const std::string server_;
  const std::string client_name_;
  const limits bounds_;
  const std::shared_ptr<::grpc::Channel> channel_;
  const std::unique_ptr<v1::Rpc::Stub> stub_;
  /// Last, so that it goes first.
  open_operations operations_;
};

class grpc_channel final : public channel {
 public:
  explicit grpc_channel(const channel_options& options);
  ~grpc_channel() override;

  std::vector<method_description> list(time_point deadline) override;
  void start(call_ptr started) override;
  void perform(const call_ptr& started) override;
  void cancel(const call_ptr& unwanted) override;
  void close() override;

 private:
  grpc_operation_ptr begin(const call_ptr& started);
  grpc_operation_ptr try_list(time_point deadline, bool waits = true);
  /// The list after all, or `late` with the reason why gRPC does not reach the server.
  grpc_operation_ptr list_at_once(grpc_operation_ptr late);

  std::unique_ptr<grpc_connection> connection_;
};

}  // namespace troupe::rpc
