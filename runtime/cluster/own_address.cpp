#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/cluster/own_address.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <netinet/in.h>

namespace troupe {

namespace {

const sockaddr* generic(const socket_address& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

/// With an unknown name, none.
std::vector<socket_address> known_addresses(const std::string& host) {
  try {
    return resolve(host, 0);
  } catch (const error&) {
    return {};
  }
}

bool is_own(const socket_address& address) {
  const descriptor probe{::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  return probe && ::bind(probe.get(), generic(address), address.length) == 0;
}

/// Of a socket that is connected but has sent nothing.
std::string local_end(const descriptor& socket) {
  socket_address own;
  own.length = sizeof own.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.length) != 0) return "";
  return number_of(own);
}

}  // namespace

bool is_loopback_number(const std::string& number) { return number.starts_with("127.") || number == "::1"; }

std::vector<std::string> own_numbers_of(const std::string& host) {
  std::vector<std::string> numbers;
  for (const auto& each : known_addresses(host))
    if (is_own(each)) numbers.push_back(number_of(each));
  return numbers;
}

std::string number_towards(const std::string& other_host) {
  for (auto each : known_addresses(other_host)) {
    // Which port does not matter, but to connect to none is an error.
    constexpr std::uint16_t any_port = 9;
    const descriptor probe{::socket(each.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    auto& port = each.storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(each.storage).sin6_port
                                                    : reinterpret_cast<sockaddr_in&>(each.storage).sin_port;
    port = htons(any_port);
    if (!probe || ::connect(probe.get(), generic(each), each.length) != 0) continue;
    if (auto number = local_end(probe); !number.empty()) return number;
  }
  return "";
}

}  // namespace troupe
