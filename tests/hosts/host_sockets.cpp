#include "host_sockets.hpp"

#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>

namespace troupe {

using std::chrono::steady_clock;

namespace {

constexpr std::uint16_t stream_port = 7100;

sockaddr_in address_of(const std::string& address, std::uint16_t port) {
  sockaddr_in result = {};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  BOOST_REQUIRE(::inet_pton(AF_INET, address.c_str(), &result.sin_addr) == 1);
  return result;
}

void make_quick_and_patient(const descriptor& socket) {
  const auto on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const timeval patience{20, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

}  // namespace

descriptor socket_on(const host_network& network, int host, int type, int family) {
  // "nsenter --target PID ..."
  const auto there = "/proc/" + network.launcher(host).at(2) + "/ns/net";
  descriptor result;
  // A thread of its own, because it stays in that network.
  std::thread{[&] {
    const descriptor space{::open(there.c_str(), O_RDONLY | O_CLOEXEC)};
    if (::setns(space.get(), CLONE_NEWNET) == 0) result = descriptor{::socket(family, type | SOCK_CLOEXEC, 0)};
  }}.join();
  BOOST_REQUIRE_MESSAGE(result, "a socket on host " << host << ": " << std::strerror(errno));
  make_quick_and_patient(result);
  return result;
}

descriptor bound_socket_on(const host_network& network, int host, int type, std::uint16_t port) {
  auto result = socket_on(network, host, type);
  const auto on = 1;
  ::setsockopt(result.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const auto address = address_of(host_network::address(host), port);
  BOOST_REQUIRE(::bind(result.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  return result;
}

void connect_to(const descriptor& socket, const std::string& to, std::uint16_t port) {
  const auto address = address_of(to, port);
  BOOST_REQUIRE_MESSAGE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0,
                        "connecting to " << to << ": " << std::strerror(errno));
}

host_connection connect_hosts(const host_network& network, int one, int other, std::string address) {
  const auto listener = bound_socket_on(network, other, SOCK_STREAM, stream_port);
  BOOST_REQUIRE(::listen(listener.get(), 1) == 0);
  host_connection result{socket_on(network, one, SOCK_STREAM), {}};
  connect_to(result.one, address.empty() ? host_network::address(other) : address, stream_port);
  result.other = descriptor{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  BOOST_REQUIRE(result.other);
  make_quick_and_patient(result.other);
  return result;
}

void send_all(const descriptor& socket, std::span<const std::byte> content) {
  while (!content.empty()) {
    const auto count = ::send(socket.get(), content.data(), content.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // the reader sees that it lacks something
    content = content.subspan(static_cast<std::size_t>(count));
  }
}

std::size_t receive_all(const descriptor& socket, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const auto count = ::recv(socket.get(), into.data() + done, into.size() - done, 0);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::chrono::nanoseconds time_of_a_byte(const descriptor& from, const descriptor& to) {
  std::array<std::byte, 1> byte{};
  const auto begin = steady_clock::now();
  send_all(from, byte);
  BOOST_REQUIRE_MESSAGE(receive_all(to, byte) == 1, "a byte arrives: " << std::strerror(errno));
  return steady_clock::now() - begin;
}

std::chrono::nanoseconds least_time_of_a_byte(const descriptor& from, const descriptor& to) {
  constexpr int times = 10;
  auto least = std::chrono::nanoseconds::max();
  for (int i = 0; i < times; ++i) least = std::min(least, time_of_a_byte(from, to));
  return least;
}

void run_on_host(const host_network& network, int host, const std::string& commands) {
  auto command_line = network.launcher(host);
  command_line.insert(command_line.end(), {"sh", "-e", "-c", commands});
  child_process_options options{.program = command_line.front()};
  options.arguments.assign(command_line.begin() + 1, command_line.end());
  child_process command{options};
  const auto ended = command.wait_for(std::chrono::seconds{20});
  BOOST_REQUIRE_MESSAGE(ended && ended->success(), commands << " on host " << host);
}

bool translates(host_network& network, int caller, int host) {
  try {
    network.translate(caller, host);
    return true;
  } catch (const error& failed) {
    BOOST_TEST_MESSAGE("not tested, since this kernel translates no addresses: " << failed.message());
    return false;
  }
}

boost::test_tools::assertion_result links_can_be_slow(boost::unit_test::test_unit_id) {
  static const auto obstacle = host_network::obstacle_to_slow_links();
  const auto* const variable = std::getenv("TROUPE_TEST_HOSTS");
  const auto must_be = variable != nullptr && std::string_view{variable} == "required";
  boost::test_tools::assertion_result result{!obstacle || must_be};
  if (obstacle) result.message() << *obstacle;
  return result;
}

}  // namespace troupe
