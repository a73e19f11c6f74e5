// Sockets on hosts, held by the test itself: both ends of a connection under one clock, and no process between them.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/launch/host_network.hpp>

#include <boost/test/tree/decorator.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include <sys/socket.h>

namespace troupe {

/// A socket of this type (SOCK_STREAM, SOCK_DGRAM) in the host's network.
descriptor socket_on(const host_network& network, int host, int type, int family = AF_INET);
/// One that is bound to the host's address.
descriptor bound_socket_on(const host_network& network, int host, int type, std::uint16_t port);
/// Connects it to this port. Fails the test if it can't.
void connect_to(const descriptor& socket, const std::string& address, std::uint16_t port);

/// A TCP connection between two hosts. Neither end waits for more than 20 s.
struct host_connection {
  descriptor one;
  descriptor other;
};
/// Who is `one` has called `other`, at its address if nothing else is said.
host_connection connect_hosts(const host_network& network, int one, int other, std::string address = {});

void send_all(const descriptor& socket, std::span<const std::byte> content);
/// How much came, until all or an end.
std::size_t receive_all(const descriptor& socket, std::span<std::byte> into);

/// How long a byte is under way. Fails the test if it does not arrive.
std::chrono::nanoseconds time_of_a_byte(const descriptor& from, const descriptor& to);
/// The least of several: what the link does, not the machine.
std::chrono::nanoseconds least_time_of_a_byte(const descriptor& from, const descriptor& to);

/// Runs a shell's commands on a host, and fails the test if they fail.
void run_on_host(const host_network& network, int host, const std::string& commands);

/// From now on `host` is behind a translation of addresses for `caller`. False, and a message: this kernel has none.
bool translates(host_network& network, int caller, int host);

/// Skips tests of slow links where the machine has none, unless it must (TROUPE_TEST_HOSTS=required).
boost::test_tools::assertion_result links_can_be_slow(boost::unit_test::test_unit_id);

}  // namespace troupe
