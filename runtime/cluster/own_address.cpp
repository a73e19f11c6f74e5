#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/cluster/own_address.hpp>
#include <troupe/runtime/sockets/name_lookup.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <algorithm>
#include <chrono>
#include <set>

#include <netinet/in.h>

namespace troupe {

namespace {

const sockaddr* generic(const socket_address& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

/// With an unknown name, or a name service that is silent, none.
std::vector<socket_address> known_addresses(const std::string& host) {
  constexpr auto limit = std::chrono::seconds{10};
  try {
    return resolve_within(host, 0, limit);
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
    set_port(each, any_port);
    if (!probe || ::connect(probe.get(), generic(each), each.length) != 0) continue;
    if (auto number = local_end(probe); !number.empty()) return number;
  }
  return "";
}

namespace {

/// A process whose address has a name listens on addresses of IPv4 (listen_address).
bool is_for_others(const socket_address& address) {
  return address.storage.ss_family == AF_INET && !is_loopback_number(number_of(address));
}

/// This machine's numbers on the way to the first few of these; empty for those that are unknown.
std::vector<std::string> numbers_towards(const std::vector<std::string>& hosts, const std::string& but) {
  // More would only take time if the name service is slow.
  constexpr std::size_t hosts_max = 2;
  std::set<std::string> asked{but};
  std::vector<std::string> numbers;
  for (const auto& each : hosts)
    if (numbers.size() < hosts_max && asked.insert(each).second) numbers.push_back(number_towards(each));
  return numbers;
}

}  // namespace

std::string advertised_number(const std::string& host, const std::vector<std::string>& other_hosts) {
  constexpr auto loopback = "127.0.0.1";
  if (is_numeric_host(host)) return host;
  if (host == "localhost") return loopback;
  auto addresses = known_addresses(host);
  std::stable_partition(addresses.begin(), addresses.end(), is_own);
  const auto found = std::ranges::find_if(addresses, is_for_others);
  if (found != addresses.end()) return number_of(*found);
  auto numbers = numbers_towards(other_hosts, host);
  const auto all_are_here = !addresses.empty() && std::ranges::all_of(numbers, is_loopback_number);
  if (all_are_here) return loopback;
  numbers.push_back(number_towards(any_other_host));
  const auto chosen =
      std::ranges::find_if(numbers, [](const std::string& each) { return !each.empty() && !is_loopback_number(each); });
  return chosen == numbers.end() ? loopback : *chosen;
}

}  // namespace troupe
