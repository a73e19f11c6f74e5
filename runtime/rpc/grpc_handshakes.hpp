// Bounds the TLS handshakes that are under way at a gRPC server.
//
// Problem: a ClientHello costs a peer without a certificate nothing, and gRPC keeps a handshake of about 70 KiB for it,
// for up to `timeout`. Solution: a new connection replaces the oldest one whose handshake is not over.
//
// gRPC does not report the end of a handshake. But its list of sockets (channelz) has a connection from the moment in
// which its handshake is over. The list takes a time in proportion to its length, so it is read at the limit only, and
// for at most a tenth of the time. A connection that is older than `timeout` is not in its handshake: gRPC has closed
// it otherwise.
//
// gRPC closes a replaced connection when its threads get to it. While as many wait for that, it has more to do than it
// can, and a new connection is refused.
//
// GH-1 At most `handshakes_max` TLS handshakes of a gRPC server are under way, and at most as many replaced connections
// wait for gRPC to close them. A connection that gRPC's list of sockets had at the last look is not replaced.
//
// A private header: gRPC is no part of troupe's interface.
#pragma once

#include <troupe/runtime/door/refusals.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace troupe::rpc {

/// Not thread-safe.
class grpc_handshakes {
 public:
  /// At most an eighth of the process's descriptors counts, which is a quarter of the connections that are passed on.
  static constexpr std::size_t handshakes_max = 256;
  /// From when gRPC gets a connection to the client's settings of HTTP/2. gRPC keeps it.
  static constexpr std::chrono::seconds timeout{5};

  /// `where` names the port in the log.
  explicit grpc_handshakes(std::string where);

  /// Before gRPC gets the connection. Ends the oldest one whose handshake is under way, if there are too many. False:
  /// gRPC must not get it.
  bool add(int connection);

 private:
  using clock = std::chrono::steady_clock;
  struct handshake {
    int connection = -1;
    /// Of the socket. The number of a descriptor stands for another one once gRPC has closed it.
    std::uint64_t socket = 0;
    /// As gRPC writes it.
    std::string peer;
    clock::time_point since;
  };

  static bool is_closed(const handshake& each);
  void forget_old();
  void forget_finished();
  void end_oldest();
  bool has_room_to_end();

  const std::size_t most_;
  refusals refusals_;
  std::deque<handshake> open_;  // by age
  /// Ended, and not closed by gRPC when that was last asked.
  std::deque<handshake> ended_;
  clock::time_point next_look_ = clock::time_point::min();
};

}  // namespace troupe::rpc
