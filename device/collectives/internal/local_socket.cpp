#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/internal/local_socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t message_bytes_max = 64 * 1024;
constexpr std::size_t file_room = CMSG_SPACE(sizeof(int));

struct local_address {
  sockaddr_un address = {};
  socklen_t size = 0;
};

local_address address_of(const std::string& name) {
  local_address result;
  const auto text = "troupe/" + name;
  // The first character of an abstract name is a zero.
  const auto room = sizeof(result.address.sun_path) - 1;
  if (name.empty() || text.size() > room) {
    throw invalid_argument_error{fmt::format("a group's name of {} characters: expected 1 to {}", name.size(),
                                             room - (text.size() - name.size()))};
  }
  result.address.sun_family = AF_UNIX;
  std::memcpy(result.address.sun_path + 1, text.data(), text.size());
  result.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return result;
}

descriptor open_socket() {
  descriptor opened{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!opened) {
    throw resource_exhausted_error{
        fmt::format("no socket for a group of processes: {}; raise ulimit -n", std::strerror(errno))};
  }
  return opened;
}

ucred peer_of(const descriptor& socket) {
  ucred who = {.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t size = sizeof(who);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size);
  return who;
}

const sockaddr* generic(const local_address& which) { return reinterpret_cast<const sockaddr*>(&which.address); }

/// The file that came with a message.
descriptor attached_file(msghdr& header) {
  const auto* control = CMSG_FIRSTHDR(&header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS || control->cmsg_len != CMSG_LEN(sizeof(int))) return {};
  int number = -1;
  std::memcpy(&number, CMSG_DATA(control), sizeof(number));
  return descriptor{number};
}

}  // namespace

descriptor listen_local(const std::string& name) {
  const auto where = address_of(name);
  auto listener = open_socket();
  if (::bind(listener.get(), generic(where), where.size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0) {
    throw already_exists_error{fmt::format("the group \"{}\" cannot be opened: {}; give every group a name of its own",
                                           name, std::strerror(errno))};
  }
  return listener;
}

descriptor connect_local(const std::string& name, local_deadline deadline) {
  const auto where = address_of(name);
  auto socket = open_socket();
  // The kernel tells nobody that a name has come into being, so all there is to do is to try again.
  while (::connect(socket.get(), generic(where), where.size) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      throw deadline_exceeded_error{fmt::format(
          "nobody has opened the group \"{}\" within the limit: {}; its first rank must run on this host, in the same "
          "network namespace",
          name, std::strerror(errno))};
    }
    std::this_thread::sleep_for(1ms);
  }
  if (peer_of(socket).uid != ::geteuid()) {
    throw permission_denied_error{fmt::format("the group \"{}\" belongs to another user", name)};
  }
  return socket;
}

descriptor accept_local(const descriptor& listener) {
  descriptor accepted{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (accepted && peer_of(accepted).uid != ::geteuid()) accepted.reset();
  return accepted;
}

pid_t peer_process(const descriptor& socket) { return peer_of(socket).pid; }

bool send_message(const descriptor& socket, std::span<const std::byte> bytes, const descriptor& file) {
  iovec content{const_cast<std::byte*>(bytes.data()), bytes.size()};  // sendmsg does not write to it
  alignas(cmsghdr) std::array<char, file_room> control = {};
  msghdr header = {};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  if (file) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    auto* attached = CMSG_FIRSTHDR(&header);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof(int));
    const auto number = file.get();
    std::memcpy(CMSG_DATA(attached), &number, sizeof(number));
  }
  return ::sendmsg(socket.get(), &header, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

std::optional<local_message> receive_message(const descriptor& socket, local_deadline deadline) {
  if (!wait_for_any(std::array{socket.get()}, deadline)) {
    throw deadline_exceeded_error{"the group's other processes have not answered within the limit"};
  }
  local_message result;
  result.bytes.resize(message_bytes_max);
  iovec content{result.bytes.data(), result.bytes.size()};
  alignas(cmsghdr) std::array<char, file_room> control = {};
  msghdr header = {};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const auto count = ::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC);
  result.file = attached_file(header);
  if (count <= 0) return std::nullopt;
  result.bytes.resize(static_cast<std::size_t>(count));
  return result;
}

bool wait_for_any(std::span<const int> sockets, local_deadline deadline) {
  std::vector<pollfd> watched;
  for (const auto socket : sockets) watched.push_back({socket, POLLIN, 0});
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto wait = static_cast<int>(std::clamp<std::chrono::milliseconds>(left, 0ms, 60'000ms).count());
    const auto ready = ::poll(watched.data(), watched.size(), wait);
    if (ready > 0) return true;
    if (left <= 0ms) return false;
  }
}

}  // namespace troupe
