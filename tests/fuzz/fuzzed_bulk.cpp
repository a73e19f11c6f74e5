// What comes to the sending end of the bulk transport, and what tickets say.
#include "decoder.hpp"

#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>

namespace troupe::fuzzed_bulk {

namespace {

using namespace std::chrono_literals;

std::vector<std::string> endpoints() {
  return {bulk_endpoint{"10.0.0.1", 4711, {}}.to_string(), bulk_endpoint{"::1", 1, {std::byte{0xff}}}.to_string(),
          refusal_endpoint({status_code::resource_exhausted, "too much"})};
}

void endpoint(std::string_view bytes) {
  const std::string text{bytes};
  if (refusal_in(text).ok()) bulk_endpoint::parse(text).to_string();
}

std::string bytes_of(const bulk_request& request) { return {reinterpret_cast<const char*>(&request), sizeof(request)}; }

/// The first byte says whether the requests carry the server's own secret.
std::vector<std::string> requests() {
  const auto one = bytes_of({.number = 1, .size_bytes = 8, .part = {0, 8}});
  const auto end = bytes_of({.number = 1, .size_bytes = 8, .part = {4, 4}});
  return {'\1' + one, '\1' + one + one, '\0' + one, '\1' + end + one, '\1' + bytes_of({.number = 2}).substr(0, 11)};
}

/// A server that has something to give.
class serving {
 public:
  serving() { transport_.served_at({"127.0.0.1", 1}); }

  bulk_ticket offer() { return transport_.offer(buffer::allocate(8), 1s); }
  void adopt(channel connection) { transport_.adopt(std::move(connection)); }

 private:
  tcp_bulk transport_;
};

/// With the secret and the number of what is offered now in each whole request.
std::string made_right(std::string said, const bulk_ticket& ticket) {
  const auto secret = bulk_endpoint::parse(ticket.endpoint).secret;
  for (std::size_t at = 0; at + sizeof(bulk_request) <= said.size(); at += sizeof(bulk_request)) {
    std::memcpy(said.data() + at + offsetof(bulk_request, secret), secret.data(), secret.size());
    auto& number = said[at + offsetof(bulk_request, number)];
    if (number == 1) std::memcpy(&number, &ticket.number, sizeof(ticket.number));
  }
  return said;
}

void request(std::string_view bytes) {
  static auto& server = *new serving;
  if (bytes.empty()) return;
  const auto ticket = server.offer();
  auto said = std::string{bytes.substr(1)};
  if (bytes.front() % 2 != 0) said = made_right(std::move(said), ticket);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return;
  const descriptor client{ends[0]};
  server.adopt(channel{descriptor{ends[1]}});
  ::send(client.get(), said.data(), said.size(), MSG_NOSIGNAL);
  ::shutdown(client.get(), SHUT_WR);
  // Until the server has closed.
  ::fcntl(client.get(), F_SETFL, 0);
  std::array<char, 4096> heard{};
  while (::recv(client.get(), heard.data(), heard.size(), 0) > 0) {
  }
}

const decoder tickets{"bulk-ticket", endpoints, endpoint};
const decoder server{"bulk-server", requests, request};

}  // namespace

}  // namespace troupe::fuzzed_bulk
