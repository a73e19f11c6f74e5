// The two layers that remote procedure calls go over: how each listens and how each connects.
//
//   "caf"   CAF's middleman, between C++ programs; tensors travel beside the messages
//   "grpc"  gRPC with protobuf messages (rpc.proto), for clients in other languages; server reflection is on
//
// A layer is made of a listener for servers and a channel (rpc_call.hpp) for clients. What is the same for both lies in
// rpc_server.hpp and rpc_client.hpp.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/actors/rpc/internal/rpc_admission.hpp>
#include <troupe/actors/rpc/rpc_call.hpp>
#include <troupe/actors/rpc/rpc_limits.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/actors/values/bulk.hpp>

#include <caf/actor_system.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::rpc {

enum class layer { caf, grpc };

/// @throws invalid_argument_error that lists the layers
layer parse_layer(std::string_view name);
std::string to_string(layer which);

/// Where a server listens: as task_address::parse, but the port may be 0, which takes a free one.
task_address parse_listening_address(std::string_view text);

/// What a started server offers to its layer.
struct listener_options {
  caf::actor_system* system = nullptr;
  task_address address;
  std::shared_ptr<const method_table> methods;
  std::vector<executor_actor> executors;
  std::shared_ptr<admission> admitted;
  limits bounds;
  liveness silence;
  /// For large tensors; null for the layer "grpc".
  std::shared_ptr<bulk_transport> tensors;
};

/// Takes calls from the network. The destructor closes the port; calls that are still open then have been answered by
/// the executors, which stop before.
class listener {
 public:
  virtual ~listener() = default;
  /// The port in use, also where 0 was asked for.
  virtual std::uint16_t port() const = 0;
};

/// @throws unavailable_error that names the address when it can't be listened on
std::unique_ptr<listener> listen_caf(const listener_options& options);
std::unique_ptr<listener> listen_grpc(const listener_options& options);

/// How a client connects.
struct channel_options {
  task_address address;
  std::string client_name;
  limits bounds;
  liveness silence;
};

/// Connects in the background; `system` has the middleman and outlives the channel.
std::shared_ptr<channel> connect_caf(std::shared_ptr<caf::actor_system> system, const channel_options& options);
std::shared_ptr<channel> connect_grpc(const channel_options& options);

}  // namespace troupe::rpc
