#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace troupe {

namespace {

using address_list = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

constexpr int connections_waiting_max = 128;

/// Sets `failure` to a code of getaddrinfo, 0 for success.
address_list look_up(const std::string& host, std::uint16_t port, int flags, int& failure) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  return {failure == 0 ? found : nullptr, &::freeaddrinfo};
}

descriptor open_socket(int family) {
  return descriptor{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

void set_tcp_option(int socket, int option, int value) {
  ::setsockopt(socket, IPPROTO_TCP, option, &value, sizeof(value));
}

// Requests are shorter than a packet and must not wait for one. Buffer sizes stay the kernel's business: a fixed size
// would switch its tuning off, which on a long link finds the right one.
void send_without_delay(int socket) { set_tcp_option(socket, TCP_NODELAY, 1); }

const sockaddr* generic(const socket_address& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

std::vector<socket_address> all_of(const address_list& found) {
  std::vector<socket_address> addresses;
  for (const auto* entry = found.get(); entry; entry = entry->ai_next) {
    auto& address = addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
  }
  return addresses;
}

/// None, with errno set, when it can't be.
descriptor start_listening(const socket_address& address) {
  auto listener = open_socket(address.storage.ss_family);
  if (!listener) return listener;
  const auto on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // "::" means all addresses here, whatever the system's setting.
  const auto off = 0;
  if (address.storage.ss_family == AF_INET6) ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  // What is accepted has these options from its listener, so they cost nothing there.
  send_without_delay(listener.get());
  end_when_unreachable(listener.get());
  if (::bind(listener.get(), generic(address), address.length) == 0 &&
      ::listen(listener.get(), connections_waiting_max) == 0)
    return listener;
  const auto reason = errno;
  listener.reset();
  errno = reason;
  return listener;
}

/// Also one of IPv6 where the system has none.
bool is_of_another_machine(int reason) { return reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT; }

/// The last reason decides what to do: those before it were passed over.
[[noreturn]] void throw_not_listening(const std::string& host, std::uint16_t port, const std::string& why, int reason) {
  const auto what = fmt::format("cannot listen at \"{}\" port {}: {}", host, port, why);
  if (reason == EADDRINUSE) throw already_exists_error{what + "; choose another port, or 0 for a free one"};
  if (is_of_another_machine(reason))
    throw invalid_argument_error{what + "; expected an address of this machine, such as \"127.0.0.1\""};
  if (reason == EACCES) throw permission_denied_error{what + "; choose a port above 1023, or 0 for a free one"};
  throw resource_exhausted_error{what + "; raise the limit of open files (ulimit -n)"};
}

}  // namespace

std::string number_of(const socket_address& address) {
  std::array<char, NI_MAXHOST> text{};
  const auto failure =
      ::getnameinfo(generic(address), address.length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failure == 0 ? text.data() : "";
}

bool is_numeric_host(const std::string& host) {
  auto failure = 0;
  look_up(host, 0, AI_NUMERICHOST, failure);
  return failure == 0;
}

std::vector<socket_address> resolve(const std::string& host, std::uint16_t port) {
  auto failure = 0;
  const auto found = look_up(host, port, 0, failure);
  if (failure != 0)
    throw unavailable_error{
        fmt::format("the host \"{}\" cannot be resolved: {}; check the name service, or advertise "
                    "an address in numbers",
                    host, ::gai_strerror(failure))};
  return all_of(found);
}

void set_port(socket_address& address, std::uint16_t port) {
  const auto is_ipv6 = address.storage.ss_family == AF_INET6;
  auto& place = is_ipv6 ? reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port
                        : reinterpret_cast<sockaddr_in&>(address.storage).sin_port;
  place = htons(port);
}

std::string network_of(const socket_address& address) {
  const auto bytes_of = [](const auto& number, std::size_t first, std::size_t count) {
    return std::string{reinterpret_cast<const char*>(&number) + first, count};
  };
  if (address.storage.ss_family == AF_INET)
    return bytes_of(reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr, 0, sizeof(in_addr));
  if (address.storage.ss_family != AF_INET6) return {};
  const auto& number = reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr;
  constexpr std::size_t network_bytes = 8;
  // A listener of "::" sees IPv4 addresses like this.
  return IN6_IS_ADDR_V4MAPPED(&number) ? bytes_of(number, sizeof(in6_addr) - sizeof(in_addr), sizeof(in_addr))
                                       : bytes_of(number, 0, network_bytes);
}

void end_when_unreachable(int socket, std::chrono::milliseconds silence_max) {
  constexpr auto probes = 4;
  const auto seconds = [silence_max](int parts) {
    return static_cast<int>(
        std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(silence_max / parts).count(), 1));
  };
  const auto on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  set_tcp_option(socket, TCP_KEEPIDLE, seconds(2));
  set_tcp_option(socket, TCP_KEEPINTVL, seconds(2 * probes));
  set_tcp_option(socket, TCP_KEEPCNT, probes);
  set_tcp_option(socket, TCP_USER_TIMEOUT, static_cast<int>(silence_max.count()));
}

void allow_unread_bytes(int socket) { set_tcp_option(socket, TCP_USER_TIMEOUT, 0); }

descriptor listen_on(const std::string& host, std::uint16_t port) {
  auto failure = 0;
  const auto found = look_up(host, port, AI_PASSIVE, failure);
  if (failure != 0)
    throw invalid_argument_error{fmt::format(
        "the host \"{}\" cannot be resolved: {}; expected an address of this machine, such as \"127.0.0.1\"", host,
        ::gai_strerror(failure))};
  return listen_on(host, port, all_of(found));
}

descriptor listen_on(const std::string& host, std::uint16_t port, std::span<const socket_address> addresses) {
  std::string why;
  auto reason = EADDRNOTAVAIL;
  for (const auto& each : addresses) {
    if (auto listener = start_listening(each)) return listener;
    reason = errno;
    const auto* const text = std::strerror(reason);
    why += addresses.size() == 1 ? text : fmt::format("{}{}: {}", why.empty() ? "" : ", ", number_of(each), text);
    // A port that is taken at one address must not be had at another: peers would connect to who has the first.
    if (!is_of_another_machine(reason)) break;
  }
  throw_not_listening(host, port, why, reason);
}

std::uint16_t bound_port(int socket) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

descriptor accept_next(int listener, socket_address* from) {
  constexpr auto flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  if (from == nullptr) return descriptor{::accept4(listener, nullptr, nullptr, flags)};
  from->length = sizeof(from->storage);
  return descriptor{::accept4(listener, reinterpret_cast<sockaddr*>(&from->storage), &from->length, flags)};
}

descriptor start_connecting(const socket_address& address) {
  auto socket = open_socket(address.storage.ss_family);
  if (!socket) return socket;
  send_without_delay(socket.get());
  end_when_unreachable(socket.get());
  if (::connect(socket.get(), generic(address), address.length) == 0 || errno == EINPROGRESS || errno == EINTR)
    return socket;
  const auto reason = errno;
  socket.reset();
  errno = reason;
  return socket;
}

int connect_error(int socket) {
  auto reason = 0;
  socklen_t length = sizeof(reason);
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &length) == 0 ? reason : errno;
}

stream_progress receive_some(int socket, std::span<std::byte> into) {
  const auto count = ::recv(socket, into.data(), into.size(), 0);
  if (count > 0) return {.bytes = static_cast<std::size_t>(count)};
  if (count == 0) return {.broken = true};
  if (errno == EAGAIN || errno == EINTR) return {.blocked = true};
  return {.broken = true, .reason = errno};
}

stream_progress send_some(int socket, std::span<const std::byte> from, bool more) {
  const auto count = ::send(socket, from.data(), from.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
  if (count >= 0) return {.bytes = static_cast<std::size_t>(count)};
  if (errno == EAGAIN || errno == EINTR) return {.blocked = true};
  return {.broken = true, .reason = errno};
}

}  // namespace troupe
