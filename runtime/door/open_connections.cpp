#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/door/open_connections.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace troupe {

namespace {

/// A look at 4,096 descriptors takes about a millisecond, and peers decide how often a limit is reached.
constexpr std::chrono::milliseconds looks_apart{10};

/// For how long neither side has sent anything; nothing: the socket is not one of TCP.
std::optional<std::chrono::milliseconds> idle_time(int socket) {
  tcp_info info = {};
  socklen_t length = sizeof(info);
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  return std::chrono::milliseconds{std::min(info.tcpi_last_data_recv, info.tcpi_last_data_sent)};
}

}  // namespace

status open_connections::check_room(const connection_owner& owner) {
  if (has_too_many(owner))
    return {status_code::resource_exhausted,
            fmt::format("it has {} connections of this process, as many as one process may have; close those that are "
                        "not needed",
                        by_peer_.at(key_of(owner)).size())};
  if (is_full(owner.part)) look_for_room(owner.part);
  if (!is_full(owner.part)) return {};
  constexpr std::array names{"", " of members", " of clients"};
  return {status_code::resource_exhausted,
          fmt::format("it has {} open connections{}, as many as it takes; end processes that are not needed, raise the "
                      "limit of open files there (ulimit -Hn) if it is under 8192, or try again later",
                      count_of(owner.part), names.at(static_cast<std::size_t>(owner.part)))};
}

void open_connections::add(int socket, connection_owner owner) {
  identity found;
  if (!read(socket, found)) return;
  // An entry of the same number is over: the number is this socket's now.
  if (const auto earlier = open_.find(socket); earlier != open_.end()) erase(earlier);
  ++count_of(owner.part);
  if (!owner.peer.empty()) by_peer_[key_of(owner)].push_back(socket);
  open_.emplace(socket, connection{found, std::move(owner)});
}

bool open_connections::read(int socket, identity& into) {
  struct stat info = {};
  if (::fstat(socket, &info) != 0) return false;
  into = {info.st_dev, info.st_ino};
  return true;
}

bool open_connections::is_over(const connections::value_type& entry) {
  identity now_there;
  return !read(entry.first, now_there) || now_there != entry.second.socket;
}

/// A process may be a member and a client: neither of the two uses up what the other may have.
std::string open_connections::key_of(const connection_owner& owner) {
  return (owner.part == connection_part::clients ? 'c' : 'm') + owner.peer;
}

std::size_t open_connections::places_of(connection_part part) const {
  const auto of_clients = std::max<std::size_t>(limits_.most / 4, 1);
  switch (part) {
    case connection_part::undivided:
      break;
    case connection_part::members:
      return std::max<std::size_t>(limits_.most - std::min(of_clients, limits_.most), 1);
    case connection_part::clients:
      return of_clients;
  }
  return limits_.most;
}

bool open_connections::is_full(connection_part part) {
  return open_.size() >= limits_.most || count_of(part) >= places_of(part);
}

/// These are few, so each time they are asked for those that are over.
bool open_connections::has_too_many(const connection_owner& owner) {
  if (owner.peer.empty()) return false;
  const auto found = by_peer_.find(key_of(owner));
  const auto most = std::clamp<std::size_t>(places_of(owner.part) / 2, 1, limits_.per_peer_max);
  if (found == by_peer_.end() || found->second.size() < most) return false;
  const auto sockets = found->second;
  for (const auto socket : sockets)
    if (const auto entry = open_.find(socket); is_over(*entry)) erase(entry);
  const auto left = by_peer_.find(key_of(owner));
  return left != by_peer_.end() && left->second.size() >= most;
}

void open_connections::look_for_room(connection_part part) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + looks_apart;
  forget_closed();
  if (part == connection_part::clients && is_full(part)) close_idlest_client();
}

void open_connections::forget_closed() {
  for (auto entry = open_.begin(); entry != open_.end();) entry = is_over(*entry) ? erase(entry) : std::next(entry);
}

/// Who has taken it finds the connection ended, as if the peer had closed it.
void open_connections::close_idlest_client() {
  auto idlest = open_.end();
  auto longest = limits_.client_idle_max;
  for (auto entry = open_.begin(); entry != open_.end(); ++entry) {
    if (entry->second.owner.part != connection_part::clients) continue;
    const auto idle = idle_time(entry->first);
    if (!idle || *idle < longest) continue;
    idlest = entry;
    longest = *idle;
  }
  if (idlest == open_.end()) return;
  // The number may stand for something else by now, its duplicate can't.
  const descriptor duplicate{::fcntl(idlest->first, F_DUPFD_CLOEXEC, 0)};
  if (identity found; duplicate && read(duplicate.get(), found) && found == idlest->second.socket)
    ::shutdown(duplicate.get(), SHUT_RDWR);
  erase(idlest);
}

open_connections::connections::iterator open_connections::erase(connections::iterator entry) {
  const auto& owner = entry->second.owner;
  --count_of(owner.part);
  if (const auto peer = by_peer_.find(key_of(owner)); !owner.peer.empty() && peer != by_peer_.end()) {
    std::erase(peer->second, entry->first);
    if (peer->second.empty()) by_peer_.erase(peer);
  }
  return open_.erase(entry);
}

}  // namespace troupe
