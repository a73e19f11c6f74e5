#include "bench_tcp_stream.hpp"

#include <troupe/device/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <sys/socket.h>

namespace troupe::tools {

namespace {

void require(bool holds, const char* call) {
  if (!holds) throw unavailable_error{fmt::format("a TCP stream over loopback: {}: {}", call, std::strerror(errno))};
}

std::pair<descriptor, descriptor> connected_pair() {
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const descriptor listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  require(listener && ::bind(listener.get(), generic, size) == 0 && ::listen(listener.get(), 1) == 0, "listen");
  require(::getsockname(listener.get(), generic, &size) == 0, "getsockname");
  descriptor one{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  require(one && ::connect(one.get(), generic, size) == 0, "connect");
  descriptor other{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  require(static_cast<bool>(other), "accept");
  return {std::move(one), std::move(other)};
}

bool send_all(int socket, const std::byte* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const auto n = ::send(socket, data + done, size - done, MSG_NOSIGNAL);
    if (n <= 0 && errno != EINTR) return false;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_all(int socket, std::byte* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const auto n = ::recv(socket, data + done, size - done, 0);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

bench_tcp_stream::bench_tcp_stream(std::size_t bytes) : sent_(bytes, std::byte{1}), received_(bytes) {
  std::tie(sender_, receiver_) = connected_pair();
  sending_ = std::thread{[this] { serve(); }};
}

bench_tcp_stream::~bench_tcp_stream() {
  ::shutdown(receiver_.get(), SHUT_RDWR);
  sending_.join();
}

void bench_tcp_stream::transfer() {
  const std::byte request{1};
  require(send_all(receiver_.get(), &request, 1), "send");
  require(receive_all(receiver_.get(), received_.data(), received_.size()), "recv");
}

void bench_tcp_stream::serve() {
  std::byte request{};
  while (receive_all(sender_.get(), &request, 1) && send_all(sender_.get(), sent_.data(), sent_.size())) {
  }
}

}  // namespace troupe::tools
