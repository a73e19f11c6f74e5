// A connection that has come in by a door, in the clear or under TLS: what its service reads and writes.
//
// Under TLS, bytes that have come may lie in the session, of which no socket tells: whoever reads goes on until it
// blocks, or looks at `buffered_bytes` before it waits for the socket.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/door/tls_session.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace troupe {

class channel {
 public:
  channel() = default;
  explicit channel(descriptor connection, std::optional<tls_session> session = std::nullopt)
      : connection_(std::move(connection)), session_(std::move(session)) {}

  explicit operator bool() const { return static_cast<bool>(connection_); }
  int socket() const { return connection_.get(); }

  stream_progress receive_some(std::span<std::byte> into) {
    return session_ ? session_->receive_some(into) : troupe::receive_some(connection_.get(), into);
  }
  stream_progress send_some(std::span<const std::byte> from, bool more = false) {
    return session_ ? session_->send_some(from) : troupe::send_some(connection_.get(), from, more);
  }
  std::size_t buffered_bytes() const { return session_ ? session_->buffered_bytes() : 0; }

  /// Apart, for who knows what to do with each; the session goes on with this socket.
  std::pair<descriptor, std::optional<tls_session>> take_apart() && {
    return {std::move(connection_), std::move(session_)};
  }

 private:
  descriptor connection_;
  std::optional<tls_session> session_;
};

}  // namespace troupe
