// How connections come to a gRPC server: through a door of ours (runtime/door) instead of a listener of gRPC's.
//
// Problem: gRPC 1.51 drops its listener for ever when accept() fails once for lack of descriptors, and keeps whoever
// connects and says nothing. Solution: gRPC listens nowhere. It is handed connections that have sent the preface of
// HTTP/2 or, with certificates, a ClientHello that offers TLS 1.3. Private, as gRPC is.
//
// Limit: connections that speak HTTP/2, answer pings and have no call stay, up to the door's `connections_max`. gRPC's
// own limit for idle ones (GRPC_ARG_MAX_CONNECTION_IDLE_MS) would help, but in 1.51 it breaks a connection off without
// asking whether a call is under way to it: of 3,000 calls about as far apart as that limit, 3 were lost.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/runtime/door/acceptor.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/rpc/grpc_handshakes.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <grpcpp/server_builder.h>

namespace troupe::rpc {

class grpc_door {
 public:
  /// Before the server is built.
  explicit grpc_door(::grpc::ServerBuilder& builder);

  /// Once the server runs; destroyed before it is shut down. What is sent to a client and not acknowledged within
  /// `silence_max` ends its connection.
  /// @throws unavailable_error that names the address when it can't be listened on; permission_denied_error when it
  /// may not (door/credentials.hpp)
  void open(const task_address& at, std::chrono::nanoseconds silence_max);
  std::uint16_t port() const { return acceptor_->port(); }
  acceptor_counts counts() const { return acceptor_->counts(); }

 private:
  void hand_over(descriptor connection);

  const std::shared_ptr<const credentials> with_;
  std::unique_ptr<::grpc::experimental::ExternalConnectionAcceptor> server_end_;
  unsigned silence_max_ms_ = 0;
  /// With certificates. In the acceptor's thread.
  std::optional<grpc_handshakes> handshakes_;
  std::unique_ptr<acceptor> acceptor_;
};

}  // namespace troupe::rpc
