// A server's end of the layer "grpc": takes calls from the network, hands them to the executors and sends their
// answers.
//
//   gRPC's thread                         executor
//     | read, checked, held ---- run ------> |
//     | cancelled, client gone -- cancel --> |
//     | <--------------------- answer, once -| (its thread writes the message)
//
// G-1 Each call that gRPC gave us is finished exactly once: by its answer, or by the end of the listener if that comes
// first. Who takes the call out of the table finishes it. A private header: gRPC is no part of troupe's interface.
#pragma once

#include <troupe/rpc.grpc.pb.h>
#include <troupe/runtime/rpc/grpc_door.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>
#include <troupe/runtime/rpc/rpc_layer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <grpcpp/server.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

namespace troupe::rpc {

/// One call on its way; belongs to gRPC, which ends it after it was finished.
class grpc_call final : public ::grpc::ServerUnaryReactor {
 public:
  grpc_call(executor_actor chosen, std::uint64_t client, std::size_t reply_bytes_max, v1::CallReply& reply)
      : executor_(std::move(chosen)), client_(client), reply_bytes_max_(reply_bytes_max), reply_(reply) {}

  std::uint64_t client() const { return client_; }
  std::uint64_t id() const { return id_; }
  /// By whoever has taken it out of the table; it may be gone afterwards.
  void finish(const std::string& method, status ended, datum result);

  // --- gRPC's side ---

  /// The client does not want it any more, is gone, or its deadline has passed.
  void OnCancel() override;
  void OnDone() override { delete this; }

 private:
  friend class grpc_call_table;
  status write(const std::string& method, const datum& result);

  const executor_actor executor_;
  const std::uint64_t client_;
  const std::size_t reply_bytes_max_;
  v1::CallReply& reply_;
  std::uint64_t id_ = 0;
};

/// The open calls, also after the listener's end, for answers that come later. Any thread.
class grpc_call_table {
 public:
  explicit grpc_call_table(const limits& bounds) : held_(bounds) {}

  /// Sets the call's id. Not ok: a limit, or the listener ends.
  status add(grpc_call& opened);
  /// The call, which its taker must finish; nullptr when it was taken before.
  grpc_call* take(std::uint64_t id);
  /// Adds none any more, and returns what is open.
  std::vector<grpc_call*> close();
  /// Whether a client of this number may have another call.
  status check(std::uint64_t client);

 private:
  std::mutex mutex_;
  // Executors count calls too, but only when they look at them: one that computes for long must not pile them up.
  admission held_;
  std::uint64_t last_id_ = 0;
  bool closed_ = false;
  std::unordered_map<std::uint64_t, grpc_call*> open_;
};

class grpc_service final : public v1::Rpc::CallbackService {
 public:
  grpc_service(const listener_options& options, std::shared_ptr<grpc_call_table> calls,
               std::shared_ptr<const credentials> with)
      : options_(options),
        reply_bytes_max_(message_bytes(options.bounds.reply_bytes_max)),
        calls_(std::move(calls)),
        with_(std::move(with)) {}

  ::grpc::ServerUnaryReactor* Call(::grpc::CallbackServerContext* context, const v1::CallRequest* request,
                                   v1::CallReply* reply) override;
  ::grpc::ServerUnaryReactor* List(::grpc::CallbackServerContext* context, const v1::ListRequest* request,
                                   v1::ListReply* reply) override;

 private:
  const listener_options options_;
  const std::size_t reply_bytes_max_;
  const std::shared_ptr<grpc_call_table> calls_;
  const std::shared_ptr<const credentials> with_;
  std::atomic<std::size_t> next_executor_{0};
};

class grpc_listener final : public listener {
 public:
  explicit grpc_listener(const listener_options& options);
  ~grpc_listener() override;
  std::uint16_t port() const override { return door_->port(); }

 private:
  const std::shared_ptr<grpc_call_table> calls_;
  grpc_service service_;
  std::unique_ptr<::grpc::Server> server_;
  std::unique_ptr<grpc_door> door_;
};

}  // namespace troupe::rpc
