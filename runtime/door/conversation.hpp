// A handshake over a socket that does not block: what both sides of a door do with their bytes. Under TLS if this side
// has certificates, and the other side's must be right before a word is said.
#pragma once

#include <troupe/runtime/door/handshake.hpp>
#include <troupe/runtime/door/tls_session.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

class conversation {
 public:
  enum class progress {
    /// The other side has the word.
    waits,
    /// The handshake is over, and what it had to say is said.
    over,
    /// The other side has hung up, or reads nothing, or is none of this cluster's (failure()).
    gone,
  };

  conversation(std::unique_ptr<handshake> side, tls_session::side which, std::shared_ptr<const tls_context> tls)
      : side_(std::move(side)), which_(which), tls_(std::move(tls)) {}

  /// Says and hears what can be said and heard now, always over the same socket. Reads nothing that comes after the
  /// handshake, but under TLS some of it may lie in the session.
  progress go_on(int socket);
  const handshake& side() const { return *side_; }
  /// Why the two did not come to words; ok if they did.
  const status& failure() const { return failure_; }
  /// Whether it is under TLS, from the end of that handshake on.
  bool is_private() const { return is_private_; }
  /// Compares what the other side has said with its certificate, and adds that to its identity. Ok without TLS.
  status prove(peer_identity& other) const;
  /// Whether the next step is one of TLS, which computes for long.
  bool is_in_tls_handshake() const { return tls_ && !is_private_; }
  /// Whether the other side has sent a first part, and nothing was wrong with it.
  bool has_begun() const { return session_ ? session_->has_begun() : side_->has_begun(); }
  /// For whoever goes on with the connection; nothing without TLS.
  std::optional<tls_session> take_session() { return std::exchange(session_, std::nullopt); }

 private:
  progress begin_tls(int socket);
  bool say(int socket);
  stream_progress receive(int socket, std::span<std::byte> into);

  const std::unique_ptr<handshake> side_;
  const tls_session::side which_;
  const std::shared_ptr<const tls_context> tls_;
  std::optional<tls_session> session_;
  bool is_private_ = false;
  status failure_;
  std::array<char, words_bytes_max> heard_{};
  std::size_t heard_bytes_ = 0;
};

}  // namespace troupe
