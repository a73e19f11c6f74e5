// The one port of a process: who comes says who he is and what he wants, and goes to whoever serves that.
//
//   accepted --> stranger: the two agree (handshake.hpp) --> the service that he wants
//                   `--> refused: told why, closed; the reason is in the log
//
// All limits of strangers are the acceptor's: the whole conversation counts as first words.
#pragma once

#include <troupe/runtime/door/acceptor.hpp>
#include <troupe/runtime/door/channel.hpp>
#include <troupe/runtime/door/door_words.hpp>
#include <troupe/runtime/door/handshake.hpp>
#include <troupe/runtime/door/tls_identity.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace troupe {

struct door_options {
  /// Who answers here. Visitors of another cluster are refused; those of none, and all if it has no name, may enter.
  peer_identity self;
  /// Null: whoever comes may enter.
  std::shared_ptr<const cluster_secret> secret;
  /// Null: in the clear.
  std::shared_ptr<const tls_identity> tls;
  acceptor_options strangers;
  /// Why a peer is refused who has proved who it is; empty: for nothing. In the thread of all acceptors.
  std::function<status(const peer_identity&)> check_peer = nullptr;
};

/// Whether the visitor is of the host's cluster, as far as both know a name of theirs.
status check_cluster(const peer_identity& host, const peer_identity& visitor);

class door {
 public:
  /// Gets a connection, non-blocking, whose next byte is the service's. Runs in the thread of all acceptors: it must
  /// not throw, block, or use the door.
  using serve = std::function<void(channel connection, const door_hello& visitor)>;

  /// Listens from here on, on all addresses if `host` is empty; port 0 takes a free one.
  /// @throws what acceptor throws; invalid_argument_error for a party whose names are too long
  door(const std::string& host, std::uint16_t port, door_options options);
  door(const door&) = delete;
  door& operator=(const door&) = delete;
  ~door();

  /// Any thread, as all below.
  std::uint16_t port() const { return acceptor_->port(); }
  acceptor_counts counts() const { return acceptor_->counts(); }

  /// Visitors who want this are served from now on, by nobody else.
  void open_for(door_service what, serve how);
  /// They are refused from now on; a visitor who is being served has been when this returns.
  void close_for(door_service what);

 private:
  friend class door_reception;

  status admit(const door_hello& visitor) const;
  void welcome(channel connection, const door_hello& visitor);

  const door_options options_;
  mutable std::mutex mutex_;
  std::map<door_service, serve> services_;
  std::unique_ptr<acceptor> acceptor_;  // ends first
};

}  // namespace troupe
