#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/door/descriptor_limit.hpp>
#include <troupe/runtime/rpc/grpc_handshakes.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace troupe::rpc {

namespace {

/// After `timeout`, for gRPC's timer and for closing.
constexpr std::chrono::seconds closing_time{1};
/// The pause after a look, in times of what the look took.
constexpr auto pause_factor = 9;

// --- sockets --------------------------------------------------------------------------------------------------------

/// The kernel gives no number twice; 0: it is no socket.
std::uint64_t number_of_socket(int connection) {
  std::uint64_t number = 0;
  socklen_t size = sizeof(number);
  return ::getsockopt(connection, SOL_SOCKET, SO_COOKIE, &number, &size) == 0 ? number : 0;
}

std::string as_numbers(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, address, text.data(), text.size());
  return text.data();
}

/// As gRPC writes it: "ipv4:127.0.0.1:4000", "ipv6:%5B::1%5D:4000".
std::string peer_of(int connection) {
  sockaddr_in6 peer{};
  socklen_t size = sizeof(peer);
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return {};
  const auto port = ntohs(peer.sin6_port);  // in both families at the same place
  if (peer.sin6_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(peer).sin_addr;
    return fmt::format("ipv4:{}:{}", as_numbers(AF_INET, &address), port);
  }
  const auto& address = peer.sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return fmt::format("ipv4:{}:{}", as_numbers(AF_INET, &address.s6_addr[12]), port);
  return fmt::format("ipv6:%5B{}%5D:{}", as_numbers(AF_INET6, &address), port);
}

// --- gRPC's list of sockets -----------------------------------------------------------------------------------------

using channelz_text = std::unique_ptr<char, decltype(&::gpr_free)>;

std::int64_t number_in(const nlohmann::json& entry, const char* key) {
  // gRPC writes numbers of 64 bits as texts.
  return std::stoll(entry.at(key).get<std::string>());
}

/// Calls `use` with the number of each server of the process.
template <class Use>
void for_each_server(Use use) {
  for (std::int64_t next = 0, last = -1; next != last;) {
    last = next;
    const channelz_text page{::grpc_channelz_get_servers(next), &::gpr_free};
    const auto listed = nlohmann::json::parse(page.get());
    for (const auto& each : listed.value("server", nlohmann::json::array())) {
      const auto number = number_in(each.at("ref"), "serverId");
      use(number);
      next = number + 1;
    }
    if (listed.value("end", false)) return;
  }
}

void add_peers(std::int64_t server, std::unordered_set<std::string>& to) {
  for (std::int64_t next = 0, last = -1; next != last;) {
    last = next;
    const channelz_text page{::grpc_channelz_get_server_sockets(server, next, 0), &::gpr_free};
    if (!page) return;  // the server has ended meanwhile
    const auto listed = nlohmann::json::parse(page.get());
    for (const auto& each : listed.value("socketRef", nlohmann::json::array())) {
      const auto name = each.at("name").get<std::string>();  // "chttp2 ipv4:127.0.0.1:4000"
      to.insert(name.substr(name.find(' ') + 1));
      next = number_in(each, "socketId") + 1;
    }
    if (listed.value("end", false)) return;
  }
}

/// The peers of all connections to gRPC servers of this process whose handshakes are over. gRPC does not tell which of
/// the servers is ours, and a peer that is connected to two of them from the same port is rare.
std::unordered_set<std::string> connected_peers() {
  std::unordered_set<std::string> peers;
  try {
    for_each_server([&](std::int64_t server) { add_peers(server, peers); });
  } catch (const std::exception&) {
    // Another form of the list than that of gRPC 1.51: the timeout alone ends what is counted here.
  }
  return peers;
}

std::size_t most_handshakes() {
  raise_descriptor_limit();
  return std::clamp<std::size_t>(descriptor_limit() / 8, 1, grpc_handshakes::handshakes_max);
}

}  // namespace

grpc_handshakes::grpc_handshakes(std::string where) : most_(most_handshakes()), refusals_(std::move(where)) {}

bool grpc_handshakes::add(int connection) {
  forget_old();
  if (open_.size() >= most_) forget_finished();
  if (open_.size() >= most_) {
    if (!has_room_to_end()) {
      refusals_.add(refusal::over_limit, "gRPC has more TLS handshakes to end than it gets to");
      return false;
    }
    end_oldest();
  }
  open_.push_back({connection, number_of_socket(connection), peer_of(connection), clock::now()});
  return true;
}

bool grpc_handshakes::is_closed(const handshake& each) { return number_of_socket(each.connection) != each.socket; }

void grpc_handshakes::forget_old() {
  const auto oldest = clock::now() - timeout - closing_time;
  while (!open_.empty() && open_.front().since < oldest) open_.pop_front();
}

void grpc_handshakes::forget_finished() {
  const auto begin = clock::now();
  if (begin < next_look_) return;
  const auto connected = connected_peers();
  std::erase_if(open_, [&](const handshake& each) { return connected.contains(each.peer) || is_closed(each); });
  const auto end = clock::now();
  next_look_ = end + pause_factor * (end - begin);
}

bool grpc_handshakes::has_room_to_end() {
  if (ended_.size() >= most_) std::erase_if(ended_, is_closed);
  return ended_.size() < most_;
}

void grpc_handshakes::end_oldest() {
  const auto oldest = std::move(open_.front());
  open_.pop_front();
  // gRPC may close it at any moment, and its number may stand for another file then. The duplicate does not change.
  const descriptor same{::fcntl(oldest.connection, F_DUPFD_CLOEXEC, 0)};
  // Without a descriptor for this, gRPC's timeout ends it.
  if (!same || number_of_socket(same.get()) != oldest.socket) return;
  ::shutdown(same.get(), SHUT_RDWR);
  ended_.push_back(oldest);
  refusals_.add(refusal::displaced, "their TLS handshakes were not over when others needed their places");
}

}  // namespace troupe::rpc
