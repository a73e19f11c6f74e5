#include "loopback_port.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {

namespace {

/// How often a thread that waits looks whether it is to end.
constexpr int look_ms = 20;

sockaddr_in loopback_name(std::uint16_t port) {
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return name;
}

}  // namespace

descriptor connect_to_loopback(std::uint16_t port) {
  descriptor file{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto name = loopback_name(port);
  if (::connect(file.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) return {};
  return file;
}

void write_to(const descriptor& file, std::string_view words) {
  while (!words.empty()) {
    const auto sent = ::send(file.get(), words.data(), words.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    words.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string read_from(const descriptor& file, const std::stop_token& enough) {
  std::array<char, 64 * 1024> block{};
  pollfd watched{file.get(), POLLIN, 0};
  while (!enough.stop_requested()) {
    if (::poll(&watched, 1, look_ms) == 0) continue;
    const auto count = ::read(file.get(), block.data(), block.size());
    return {block.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }
  return {};
}

loopback_port::loopback_port(handler serve)
    : serve_(std::move(serve)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  auto name = loopback_name(0);
  socklen_t size = sizeof(name);
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  BOOST_REQUIRE(::bind(socket_.get(), address, size) == 0);
  BOOST_REQUIRE(::listen(socket_.get(), 64) == 0);
  BOOST_REQUIRE(::getsockname(socket_.get(), address, &size) == 0);
  number_ = ntohs(name.sin_port);
  accepts_ = std::jthread{[this](const std::stop_token& enough) { accept_until(enough); }};
}

void loopback_port::accept_until(const std::stop_token& enough) {
  std::vector<std::jthread> connections;
  pollfd watched{socket_.get(), POLLIN, 0};
  while (!enough.stop_requested()) {
    if (::poll(&watched, 1, look_ms) <= 0) continue;
    auto accepted = std::make_shared<descriptor>(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (*accepted)
      connections.emplace_back([this, accepted](const std::stop_token& over) { serve_(over, std::move(*accepted)); });
  }
}

void relay(const std::stop_token& enough, const descriptor& from, const descriptor& to,
           const std::function<void(std::string_view)>& hears) {
  const auto pass_on = [](const std::stop_token& over, const descriptor& source, const descriptor& target,
                          const std::function<void(std::string_view)>& tell) {
    for (auto part = read_from(source, over); !part.empty(); part = read_from(source, over)) {
      write_to(target, part);
      if (tell) tell(part);
    }
    ::shutdown(target.get(), SHUT_WR);
  };
  const std::jthread back{[&](const std::stop_token& over) { pass_on(over, to, from, {}); }};
  pass_on(enough, from, to, hears);
}

}  // namespace troupe
