// Connections of all ranks of a group to each other, within this process: TCP over loopback.
#pragma once

#include <troupe/device/base/byte_stream.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/descriptor.hpp>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace troupe {

class socket_stream final : public byte_stream {
 public:
  explicit socket_stream(descriptor connection) : connection_(std::move(connection)) {}

  int socket() const override { return connection_.get(); }
  stream_progress receive_some(std::span<std::byte> into) override {
    return progress_of(::recv(socket(), into.data(), into.size(), MSG_DONTWAIT), true);
  }
  stream_progress send_some(std::span<const std::byte> from) override {
    return progress_of(::send(socket(), from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL), false);
  }

 private:
  static stream_progress progress_of(ssize_t count, bool zero_is_end) {
    if (count > 0 || (count == 0 && !zero_is_end)) return {.bytes = static_cast<std::size_t>(count)};
    if (count == 0) return {.broken = true};
    if (errno == EAGAIN || errno == EINTR) return {.blocked = true};
    return {.broken = true, .reason = errno};
  }

  descriptor connection_;
};

/// Both ends of a new connection.
inline std::pair<descriptor, descriptor> loopback_connection() {
  const descriptor listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  descriptor calling{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (::bind(listener.get(), raw, length) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), raw, &length) != 0 || ::connect(calling.get(), raw, length) != 0)
    throw unavailable_error{"no connection over loopback"};
  descriptor called{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  const auto on = 1;
  for (const auto* const each : {&calling, &called})
    ::setsockopt(each->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return {std::move(calling), std::move(called)};
}

/// For each rank what make_message_communicator takes.
inline std::vector<std::vector<std::unique_ptr<byte_stream>>> loopback_mesh(int size) {
  const auto count = static_cast<std::size_t>(size);
  std::vector<std::vector<std::unique_ptr<byte_stream>>> mesh(count);
  for (auto& each : mesh) each.resize(count);
  for (std::size_t one = 0; one < count; ++one)
    for (std::size_t other = one + 1; other < count; ++other) {
      auto [here, there] = loopback_connection();
      mesh[one][other] = std::make_unique<socket_stream>(std::move(here));
      mesh[other][one] = std::make_unique<socket_stream>(std::move(there));
    }
  return mesh;
}

}  // namespace troupe
