// How a TCP bulk transport is set up.
#pragma once

#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/door/door_words.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

struct tcp_bulk_options {
  /// Who this process is at the doors of others and at its own, and with what; null: with the process's own.
  peer_identity self = {};
  std::shared_ptr<const credentials> with = nullptr;
  /// Where this process opens a door of its own when it offers something and none is known that hands over whoever
  /// wants tensors (tcp_bulk::served_at): on an address of this machine and a port, 0: a free one.
  std::string listen_host = "127.0.0.1";
  std::uint16_t port = 0;
  /// The address, in numbers, by which the other processes reach this one; empty: `listen_host`. Needed when that is a
  /// wildcard or a name.
  std::string advertised_host;
  /// Threads that send, and threads that receive. A large tensor goes in as many parts on connections of their own,
  /// which gains where one core does not fill the link, as under TLS. 0: one, and under TLS a quarter of the cores, at
  /// most 4.
  std::size_t threads = 0;
  /// Fetches from one peer run side by side in each thread up to this number; a small one need not wait for a large
  /// one.
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

inline const std::string& advertised_host(const tcp_bulk_options& options) {
  return options.advertised_host.empty() ? options.listen_host : options.advertised_host;
}

}  // namespace troupe
