// The process that the bench `rpc` calls: troupe's server over both layers, and beside it what they are compared with,
// bare gRPC and a raw socket.
#pragma once

#include <troupe/runtime/launch/child_process.hpp>

#include <cstdint>
#include <string>

namespace troupe::tools {

/// Bytes of the tensor that is sent there and back.
inline constexpr std::size_t echo_bytes = std::size_t{4} << 20;

/// Such a process, for as long as the object lives.
class rpc_reference_process {
 public:
  /// @throws unavailable_error when it does not start
  rpc_reference_process();

  /// Address of troupe's server over this layer; methods: "echo(int64) -> int64", "echo_tensor(tensor) -> tensor".
  const std::string& address(const std::string& layer) const { return layer == "caf" ? caf_ : grpc_; }
  /// Bare gRPC, with a server of threads and with one of callbacks.
  const std::string& bare_grpc() const { return bare_; }
  const std::string& bare_grpc_callbacks() const { return bare_callbacks_; }
  /// Sends back each `echo_bytes` that it has received. One connection.
  std::uint16_t raw_port() const { return raw_port_; }

 private:
  child_process child_;
  std::string caf_;
  std::string grpc_;
  std::string bare_;
  std::string bare_callbacks_;
  std::uint16_t raw_port_ = 0;
};

/// What such a process does; returns its exit code.
int serve_rpc_reference();

}  // namespace troupe::tools
