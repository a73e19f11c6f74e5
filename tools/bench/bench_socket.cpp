#include "bench_socket.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace troupe::tools {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  return {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

descriptor make_socket() {
  descriptor made{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  require_socket(static_cast<bool>(made), "socket");
  return made;
}

void send_at_once(const descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

void require_socket(bool holds, const char* call) {
  if (!holds)
    throw unavailable_error{fmt::format("a TCP connection over loopback: {}: {}", call, std::strerror(errno))};
}

descriptor listen_on_loopback() {
  auto listener = make_socket();
  const auto address = loopback(0);
  require_socket(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
  require_socket(::listen(listener.get(), 1) == 0, "listen");
  return listener;
}

std::uint16_t port_of(const descriptor& listener) {
  auto address = loopback(0);
  socklen_t size = sizeof address;
  require_socket(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  return ntohs(address.sin_port);
}

descriptor accept_one(const descriptor& listener) {
  descriptor accepted{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  require_socket(static_cast<bool>(accepted), "accept");
  send_at_once(accepted);
  return accepted;
}

descriptor connect_to_loopback(std::uint16_t port) {
  auto connected = make_socket();
  const auto address = loopback(port);
  require_socket(::connect(connected.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
                 "connect");
  send_at_once(connected);
  return connected;
}

bool send_all(const descriptor& socket, std::span<const std::byte> data) {
  while (!data.empty()) {
    const auto n = ::send(socket.get(), data.data(), data.size(), MSG_NOSIGNAL);
    if (n <= 0 && errno != EINTR) return false;
    if (n > 0) data = data.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool receive_all(const descriptor& socket, std::span<std::byte> data) {
  while (!data.empty()) {
    const auto n = ::recv(socket.get(), data.data(), data.size(), 0);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) data = data.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace troupe::tools
