// Connections to a server that send bytes of their own, for tests of servers of the layer "grpc".
#pragma once

#include "rpc_test.hpp"

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>

namespace troupe::rpc {

/// A blocking connection; none when there is no descriptor for it.
inline descriptor connected_to(std::uint16_t port, const std::string& host = "127.0.0.1") {
  const auto address = resolve(host, port).front();
  descriptor socket{::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0)
    socket.reset();
  return socket;
}

inline descriptor connected_to(const server& whom, std::string_view words) {
  auto socket = connected_to(whom.port());
  BOOST_REQUIRE(socket);
  if (!words.empty()) BOOST_REQUIRE(::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL) > 0);
  return socket;
}

/// Whether the server closes the connection within the patience of a test, whatever it says before.
inline bool is_closed(const descriptor& socket) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd watched{socket.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&watched, 1, static_cast<int>(left.count())) <= 0) return false;
    std::array<std::byte, 4096> ignored{};
    if (receive_some(socket.get(), ignored).broken) return true;
  }
}

/// What the server sends next; empty if it closes the connection, or sends nothing within the patience of a test.
inline std::string next_bytes(const descriptor& socket) {
  pollfd watched{socket.get(), POLLIN, 0};
  if (::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds{patience}.count())) <= 0) return {};
  std::array<char, 4096> bytes{};
  const auto received = receive_some(socket.get(), std::as_writable_bytes(std::span{bytes}));
  return {bytes.data(), received.bytes};
}

/// Whether the server has closed it, whatever it has sent before.
inline bool is_closed_now(const descriptor& socket) {
  for (std::array<std::byte, 4096> ignored{};;) {
    pollfd watched{socket.get(), POLLIN, 0};
    if (::poll(&watched, 1, 0) <= 0) return false;
    if (receive_some(socket.get(), ignored).broken) return true;
  }
}

inline boost::test_tools::assertion_result there_is_ipv6(boost::unit_test::test_unit_id) {
  const descriptor socket{::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto loopback = resolve("::1", 0).front();
  boost::test_tools::assertion_result answer{
      socket && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&loopback.storage), loopback.length) == 0};
  answer.message() << "skipped: this machine has no IPv6";
  return answer;
}

}  // namespace troupe::rpc
