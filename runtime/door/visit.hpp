// The other side of a door: says who comes, on a connection that was just made.
#pragma once

#include <troupe/runtime/door/conversation.hpp>
#include <troupe/runtime/door/handshake.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>

#include <functional>
#include <memory>

namespace troupe {

/// Belongs to the thread of the loop. Its destruction ends it without an answer; deadlines are the owner's.
class visit {
 public:
  /// Gets the connection, whose next byte is the service's, and who is there; or none and why. May destroy the visit;
  /// never runs inside its constructor.
  using ended = std::function<void(descriptor connection, const door_hello& host, const status& why)>;

  /// `connection` does not block.
  /// @throws resource_exhausted_error when the kernel watches no more sockets
  visit(event_loop& loop, descriptor connection, std::unique_ptr<visitor_handshake> words, ended done);
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;

 private:
  void go_on();

  conversation talk_;
  const ended done_;
  watched_socket socket_;
};

}  // namespace troupe
