// How a TCP bulk transport is set up.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

struct tcp_bulk_options {
  /// Where this process listens once it offers something: an address of this machine.
  std::string listen_host = "127.0.0.1";
  /// 0 takes a free port.
  std::uint16_t port = 0;
  /// The host by which the other processes reach this one; empty: `listen_host`. Needed when that is a wildcard.
  std::string advertised_host;
  /// Fetches from one peer run side by side up to this number; a small one need not wait for a large one.
  std::size_t connections_per_peer = 2;
  /// Connections of other processes to this one. Over it, the one that has been idle longest is closed; if none is
  /// idle, who comes waits until one has its bytes.
  std::size_t served_connections_max = 512;
  /// Offers, and bytes of memory in them, that wait for their receivers. Over it, a receiver gets resource_exhausted.
  std::size_t offers_max = std::size_t{1} << 16;
  std::size_t offered_bytes_max = std::size_t{64} << 30;
  /// A peer that takes nothing and asks for nothing for this long loses its connection, and the transfer on it.
  std::chrono::nanoseconds stall_limit = std::chrono::seconds{30};
};

}  // namespace troupe
