// A client's end of the layer "grpc": one connection to one server, with any number of calls on it.
//
// gRPC waits for the server, finds it again after a loss, and watches deadlines; troupe's part is to translate, to
// count, and to end things in order. A call that begins in the moment in which gRPC notices a loss may end with
// `unavailable`: nobody knows then whether the server has received it.
//
// G-2 The connection is given up when nothing is open on it, and never by a thread of gRPC, which would wait for
// itself. So operations, which hold a part of it each, count until they are destroyed, and callbacks hold neither. A
// private header: gRPC is no part of troupe's interface.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/rpc.grpc.pb.h>
#include <troupe/runtime/rpc/rpc_layer.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <grpcpp/channel.h>
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
  /// Only of the list.
  completion completed;
};
using grpc_operation_ptr = std::shared_ptr<grpc_operation>;

/// Lives as long as anything is open on it.
class grpc_connection {
 public:
  explicit grpc_connection(const channel_options& options);

  const std::string& server() const { return server_; }
  v1::Rpc::Stub& stub() { return *stub_; }

  /// Keeps the operation and gives it a number. Not ok: the connection is closed, or a limit is reached.
  status begin(const grpc_operation_ptr& started, std::uint64_t& number);
  /// gRPC has called back for the last time: the operation's place is free, before anybody hears of its end and begins
  /// another one. What is taken must `end`.
  grpc_operation_ptr take(std::uint64_t number);
  /// Destroys the operation. This object may be gone afterwards.
  void end(grpc_operation_ptr taken);
  grpc_operation_ptr find(std::uint64_t number) const;
  /// Nothing begins any more; what is open.
  std::vector<grpc_operation_ptr> close();
  bool is_closed() const;
  /// After `close`: whether nothing is open any more, at the latest after `limit`. Blocks the thread: it is for the
  /// end.
  bool wait_until_idle(duration limit);

  /// Fills the request; what is wrong with it.
  status prepare(grpc_operation& started) const;
  /// Ends the operation's call as gRPC says it ended.
  void finish(grpc_operation& ended) const;
  /// A status that gRPC or the server has made.
  status explain(const grpc_operation& ended) const;

 private:
  void prepare_context(::grpc::ClientContext& context, time_point deadline) const;
  friend class grpc_channel;

  const std::string server_;
  const std::string client_name_;
  const limits bounds_;
  const std::shared_ptr<::grpc::Channel> channel_;
  const std::unique_ptr<v1::Rpc::Stub> stub_;
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::uint64_t, grpc_operation_ptr> open_;
  /// Those in `open_`, and those that were taken and are not destroyed yet.
  std::size_t count_ = 0;
  /// Closed, and nothing is open any more.
  completion idle_;
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
  grpc_operation_ptr try_list(time_point deadline);

  std::shared_ptr<grpc_connection> connection_;
};

}  // namespace troupe::rpc
