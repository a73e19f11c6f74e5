// Whether a client of TLS offers TLS 1.3, from the bytes that it sends first.
//
// Problem: gRPC 1.51 serves clients of TLS 1.2, too, and has no option against that. With TLS 1.2 the certificate of a
// client is readable on the wire. Solution: a ClientHello lists the versions that its client speaks, in the extension
// supported_versions (RFC 8446, 4.2.1). It is read before gRPC gets the connection. A server that speaks TLS 1.3 and
// finds it in this list chooses it; a client checks that nobody has changed the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

enum class client_hello_kind : std::uint8_t {
  /// The bytes so far are the beginning of a ClientHello.
  incomplete,
  /// No ClientHello begins like this.
  malformed,
  /// It is complete, and does not offer TLS 1.3.
  without_tls_1_3,
  /// It is complete, and offers TLS 1.3.
  with_tls_1_3,
};

/// Reads records of TLS from the first byte of a connection on. A ClientHello may take several records. What follows it
/// is not read. The bytes are not trusted: each length is compared with what is there.
client_hello_kind read_client_hello(std::span<const std::byte> sent);

}  // namespace troupe
