// Every limit of remote procedure calls, in one place. What is beyond one ends with `resource_exhausted`, which names
// it.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::rpc {

/// The protocol between client and server of the layer "caf": raise it when one of its messages changes. The layer
/// "grpc" has its version in the name of its package (rpc.proto).
inline constexpr std::uint32_t protocol_version = 4;

/// Waits as long as the server lives and answers pings: for those who ask for it by name.
inline constexpr duration no_timeout = duration::max();

/// A zero stands for these.
struct default_timeouts {
  /// Of a call.
  duration call = std::chrono::hours{1};
  /// Of the creation of a client, which waits for its server.
  duration connection = std::chrono::minutes{1};
};

struct limits {
  /// Calls that a server has accepted and not answered, all together and of one client. A client refuses more by
  /// itself.
  std::size_t calls_per_server_max = std::size_t{1} << 16;
  std::size_t calls_per_client_max = std::size_t{1} << 14;
  /// Methods that run at the same time (as fibers); more wait.
  std::size_t running_calls_max = 256;
  /// Bytes of the arguments of one call, and of its result.
  std::size_t request_bytes_max = std::size_t{256} << 20;
  std::size_t reply_bytes_max = std::size_t{256} << 20;
  std::size_t methods_max = 1024;
  std::size_t clients_max = 1024;
  /// So that one process can't keep all others out; with the layer "grpc" a process is not known.
  std::size_t clients_per_process_max = 256;

  /// @throws invalid_argument_error that names a limit of zero
  void check() const;
};

/// How the two sides find out that the other one is gone.
struct liveness {
  /// The pause between two pings to the other side.
  duration ping_interval = std::chrono::milliseconds{500};
  /// At least four intervals.
  duration silence_max = std::chrono::seconds{4};
};

}  // namespace troupe::rpc
