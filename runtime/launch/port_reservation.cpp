#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/port_reservation.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <sys/socket.h>

namespace troupe {

namespace {

using address_list = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

address_list resolve(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const auto failure = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); failure != 0) {
    throw invalid_argument_error{fmt::format(
        "the host \"{}\" cannot be resolved: {}; expected an address of this machine, such as \"127.0.0.1\"", host,
        ::gai_strerror(failure))};
  }
  return {found, &::freeaddrinfo};
}

}  // namespace

port_reservation::port_reservation(const std::string& host) {
  const auto addresses = resolve(host);
  socket_ = descriptor{::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto on = 1;
  const auto ready = socket_ && ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0;
  if (ready && ::bind(socket_.get(), addresses->ai_addr, addresses->ai_addrlen) == 0) {
    port_ = bound_port(socket_.get());
    return;
  }
  const auto reason = errno;
  if (reason == EADDRNOTAVAIL) {
    throw invalid_argument_error{
        fmt::format("\"{}\" is no address of this machine; use one that it has, such as \"127.0.0.1\"", host)};
  }
  throw resource_exhausted_error{
      fmt::format("no free port at \"{}\": {}; end other programs or raise the limits", host, std::strerror(reason))};
}

}  // namespace troupe
