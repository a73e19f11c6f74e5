// The few calls on TCP sockets that the bulk transport and the doors of ports need, none of which waits.
#pragma once

#include <troupe/device/base/byte_stream.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/descriptor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace troupe {

struct socket_address {
  sockaddr_storage storage = {};
  socklen_t length = 0;
};

/// The address in numbers, without the port; empty if it is none.
std::string number_of(const socket_address& address);

/// True if `host` is an address in numbers, which needs no look-up.
bool is_numeric_host(const std::string& host);
/// The addresses of `host` in the order to try them. Waits for the name service unless the host is numeric.
/// Throws unavailable_error.
std::vector<socket_address> resolve(const std::string& host, std::uint16_t port);
/// Of an address of IPv4 or IPv6.
void set_port(socket_address& address, std::uint16_t port);

/// The part of an address that its owner can't choose freely, as a key: all of an IPv4 address, and the network (/64)
/// of an IPv6 one. Empty: of another kind.
std::string network_of(const socket_address& address);

/// For connections without another limit.
inline constexpr std::chrono::minutes unreachable_limit{2};
/// Ends the connection when its peer's host has acknowledged nothing for `silence_max`: neither bytes that were sent
/// nor, when there are none, the probes of the kernel. Also when the peer's process has read nothing for so long, and
/// bytes wait for it. A listener gives this to the connections that it accepts.
void end_when_unreachable(int socket, std::chrono::milliseconds silence_max = unreachable_limit);
/// From now on the peer's process may read nothing for any time, while its host answers: it may be computing.
void allow_unread_bytes(int socket);

/// A non-blocking socket that listens; port 0 takes a free one, "::" means all addresses, those of IPv4, too. Of the
/// addresses of a name it takes the first that this machine has. What it accepts ends when the peer is unreachable.
/// Throws invalid_argument_error when `host` is no address of this machine, already_exists_error when the port is
/// taken, resource_exhausted_error when no descriptor is left.
descriptor listen_on(const std::string& host, std::uint16_t port);
/// The same for addresses that `host` has been resolved to, of which there is at least one.
descriptor listen_on(const std::string& host, std::uint16_t port, std::span<const socket_address> addresses);
std::uint16_t bound_port(int socket);
/// The next connection that waits, non-blocking; none when there is no more or, with errno set, none could be made.
/// `from` gets the peer's address.
descriptor accept_next(int listener, socket_address* from = nullptr);

/// Begins to connect; the socket becomes writable when that has ended, and ends when the peer is unreachable. None,
/// with errno set, when it failed at once.
descriptor start_connecting(const socket_address& address);
/// How connecting ended: 0 or an errno.
int connect_error(int socket);

stream_progress receive_some(int socket, std::span<std::byte> into);
/// `more` says that other bytes follow at once, so that a short frame does not become a packet of its own.
stream_progress send_some(int socket, std::span<const std::byte> from, bool more = false);

}  // namespace troupe
