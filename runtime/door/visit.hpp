// The other side of a door: says who comes, on a connection that was just made.
#pragma once

#include <troupe/runtime/door/channel.hpp>
#include <troupe/runtime/door/conversation.hpp>
#include <troupe/runtime/door/handshake.hpp>
#include <troupe/runtime/door/tls_identity.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>

#include <functional>
#include <memory>

namespace troupe {

/// What a visitor says on one connection, and under what.
struct visitor_side {
  std::unique_ptr<visitor_handshake> words;
  /// Null: in the clear.
  std::shared_ptr<const tls_context> tls;
};
/// For each connection anew.
using visitor_words = std::function<visitor_side()>;
visitor_words words_for(const door_wish& wanted, const peer_identity& self,
                        const std::shared_ptr<const cluster_secret>& secret,
                        const std::shared_ptr<const tls_identity>& tls = nullptr);

/// Belongs to the thread of the loop. Its destruction ends it without an answer; deadlines are the owner's.
class visit {
 public:
  /// Gets the connection, whose next byte is the service's, and who is there; or none and why. May destroy the visit;
  /// never runs inside its constructor.
  using ended = std::function<void(channel connection, const door_hello& host, const status& why)>;

  /// `connection` does not block.
  /// @throws resource_exhausted_error when the kernel watches no more sockets
  visit(event_loop& loop, descriptor connection, visitor_side words, ended done);
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;

 private:
  void go_on();

  conversation talk_;
  const ended done_;
  watched_socket socket_;
};

}  // namespace troupe
