#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/publish.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {

std::string listen_address(const std::string& host) {
  guard_basp();
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  const auto is_address = ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
                          ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
  return is_address || host == "localhost" ? host : "0.0.0.0";
}

namespace {

/// An errno, or zero.
int listen_once(const addrinfo& where) {
  const auto handle = ::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return errno;
  // As CAF does.
  const int on = 1;
  ::setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const auto listens = ::bind(handle, where.ai_addr, where.ai_addrlen) == 0 && ::listen(handle, 1) == 0;
  const auto failure = listens ? 0 : errno;
  ::close(handle);
  return failure;
}

/// What is wrong and what helps.
std::string why_not_listening(const task_address& address) {
  const auto host = listen_address(address.host);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const auto unknown =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (unknown != 0) return fmt::format("the host is not known here: {}", ::gai_strerror(unknown));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{list, &::freeaddrinfo};
  const auto failure = listen_once(*all);
  std::string_view cure;
  switch (failure) {
    case 0:
      return "the port was in use a moment ago; try again";
    case EADDRINUSE:
      cure = "is another process using the port?";
      break;
    case EADDRNOTAVAIL:
      cure = "no network interface of this machine has it; start the task on its machine, or correct the address";
      break;
    case EACCES:
      cure = "ports below 1024 need privileges; take another one";
      break;
    default:
      cure = "see the system's manual of bind and listen";
      break;
  }
  return fmt::format("{}; {}", std::strerror(failure), cure);
}

}  // namespace

void throw_not_listening(const caf::actor_system& system, const std::string& who, const task_address& address,
                         const std::string& failure) {
  // A simulated host has its ports for itself.
  if (!has_threads(system))
    throw unavailable_error{fmt::format("{} can't listen on {}: {}", who, to_string(address), failure)};
  throw unavailable_error{
      fmt::format("{} can't listen on {}: {} ({})", who, to_string(address), why_not_listening(address), failure)};
}

std::uint16_t open_port(caf::actor_system& system, const caf::strong_actor_ptr& whom, std::set<std::string> interface,
                        const task_address& where, duration limit, const std::string& what) {
  std::uint16_t opened = 0;
  ask(
      system, system.middleman().actor_handle(), limit, what, [&](std::uint16_t at) { opened = at; },
      caf::publish_atom_v, where.port, whom, std::move(interface), where.host, true);
  return opened;
}

void await_event_loop(caf::actor_system& system) {
  constexpr std::chrono::seconds limit{10};
  const auto turned = std::make_shared<std::promise<void>>();
  system.middleman().backend().post([turned] { turned->set_value(); });
  turned->get_future().wait_for(limit);
}

}  // namespace troupe
