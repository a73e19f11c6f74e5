// What the tests of the bulk transport use: content that shows damage, memory that tells when it is released, and peers
// that behave badly: strangers, liars, and processes that stop or die.
#pragma once

#include <troupe/device/tensor/buffer.hpp>
#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/door/handshake.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

inline std::ostream& boost_test_print_type(std::ostream& out, status_code code) { return out << to_string(code); }

}  // namespace troupe

namespace bulk_test {

using namespace std::chrono_literals;
using troupe::buffer;
using troupe::bulk_endpoint;
using troupe::bulk_part;
using troupe::bulk_reply;
using troupe::bulk_request;
using troupe::bulk_ticket;
using troupe::status;
using troupe::status_code;
using troupe::tcp_bulk;
using troupe::tcp_bulk_options;

/// Longer than anything here takes, so that a hang fails instead of hanging.
inline constexpr auto patience = 20s;

/// Bytes that show whether a part is missing, doubled or in the wrong place.
inline std::byte expected_at(std::size_t position) { return static_cast<std::byte>((position * 2654435761u) >> 13); }

inline buffer patterned(std::size_t size) {
  auto content = buffer::allocate(size);
  for (std::size_t i = 0; i < size; ++i) content.mutable_data()[i] = expected_at(i);
  return content;
}

inline bool is_patterned(const buffer& content) {
  for (std::size_t i = 0; i < content.size_bytes(); ++i)
    if (content.data()[i] != expected_at(i)) return false;
  return true;
}

/// One fetch that may still run.
struct open_fetch {
  buffer destination;
  std::future<status> ended;

  status outcome() {
    if (ended.wait_for(patience) == std::future_status::ready) return ended.get();
    return {status_code::unknown, "the fetch did not end"};
  }
};

inline open_fetch fetch(tcp_bulk& transport, const bulk_ticket& ticket, std::chrono::nanoseconds limit = patience) {
  auto promise = std::make_shared<std::promise<status>>();
  open_fetch result{buffer::allocate(ticket.size_bytes), promise->get_future()};
  transport.fetch(ticket, {result.destination.mutable_data(), result.destination.size_bytes()}, limit,
                  [promise](status ended) { promise->set_value(std::move(ended)); });
  return result;
}

/// Memory that tells when its last holder has let go.
class watched_memory {
 public:
  explicit watched_memory(std::size_t size) : bytes_(std::make_shared<std::vector<std::byte>>(size)) {}

  /// Once only.
  buffer share() {
    auto owner =
        std::shared_ptr<void>(nullptr, [bytes = bytes_, released = released_](void*) { released->set_value(); });
    return buffer::adopt(owner, bytes_->data(), bytes_->size());
  }
  bool is_released_in_time() { return future_.wait_for(patience) == std::future_status::ready; }

 private:
  std::shared_ptr<std::vector<std::byte>> bytes_;
  std::shared_ptr<std::promise<void>> released_ = std::make_shared<std::promise<void>>();
  std::future<void> future_ = released_->get_future();
};

/// A plain client or server end, as a stranger would have it: blocking, with a limit.
class plain_socket {
 public:
  explicit plain_socket(troupe::descriptor socket) : socket_(std::move(socket)) {}
  static plain_socket connect_to(const bulk_ticket& ticket) {
    const auto endpoint = bulk_endpoint::parse(ticket.endpoint);
    return plain_socket{troupe::start_connecting(troupe::resolve(endpoint.host, endpoint.port).front())};
  }

  /// One that has come in by the door there.
  static plain_socket enter(const bulk_ticket& ticket) {
    auto made = connect_to(ticket);
    troupe::visitor_handshake words{troupe::door_service::tensors, {}, nullptr};
    BOOST_TEST(made.agree(words));
    return made;
  }

  /// The conversation at a door, to its end. False unless it ends with an agreement.
  bool agree(troupe::handshake& side) {
    while (true) {
      const auto words = side.take_words();
      if (!send(std::as_bytes(std::span{words}))) return false;
      if (side.is_over()) return side.result().ok();
      std::string heard(side.expected_bytes(), '\0');
      if (receive(std::as_writable_bytes(std::span{heard})) != heard.size()) return false;
      side.hear(heard);
    }
  }

  bool send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      if (!wait_for(POLLOUT)) return false;
      const auto progress = troupe::send_some(socket_.get(), bytes);
      if (progress.broken) return false;
      bytes = bytes.subspan(progress.bytes);
    }
    return true;
  }
  template <class Frame>
  bool send_frame(const Frame& frame) {
    return send(std::as_bytes(std::span{&frame, 1}));
  }
  /// As many bytes as come before the peer closes.
  std::size_t receive(std::span<std::byte> into) {
    std::size_t received = 0;
    while (received < into.size() && wait_for(POLLIN)) {
      const auto progress = troupe::receive_some(socket_.get(), into.subspan(received));
      if (progress.broken) break;
      received += progress.bytes;
    }
    return received;
  }
  template <class Frame>
  std::optional<Frame> receive_frame() {
    Frame frame;
    if (receive(std::as_writable_bytes(std::span{&frame, 1})) != sizeof(frame)) return std::nullopt;
    return frame;
  }
  /// True when the peer ends the connection without a byte.
  bool is_closed_by_peer() {
    std::byte some;
    return wait_for(POLLIN) && troupe::receive_some(socket_.get(), {&some, 1}).broken;
  }

 private:
  bool wait_for(short events) {
    pollfd watched{socket_.get(), events, 0};
    return ::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds{patience}.count())) > 0;
  }
  troupe::descriptor socket_;
};

inline bulk_request request_for(const bulk_ticket& ticket) {
  return {.secret = bulk_endpoint::parse(ticket.endpoint).secret,
          .number = ticket.number,
          .size_bytes = ticket.size_bytes,
          .part = {0, ticket.size_bytes}};
}

/// A peer that behaves, behind its door, as the test says, one connection after the other.
class false_peer {
 public:
  explicit false_peer(std::vector<std::function<void(plain_socket&)>> behaviours)
      : listener_(troupe::listen_on("127.0.0.1", 0)), port_(troupe::bound_port(listener_.get())) {
    thread_ = std::thread{[this, behaviours = std::move(behaviours)] {
      for (const auto& behave : behaviours) {
        pollfd watched{listener_.get(), POLLIN, 0};
        if (::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds{patience}.count())) <= 0) return;
        auto accepted = troupe::accept_next(listener_.get());
        if (!accepted) return;
        plain_socket socket{std::move(accepted)};
        troupe::host_handshake words{{}, nullptr, [](const troupe::door_hello&) { return status{}; }};
        if (socket.agree(words)) behave(socket);
      }
    }};
  }
  /// Who has not come by now does not come.
  ~false_peer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  false_peer(const false_peer&) = delete;
  false_peer& operator=(const false_peer&) = delete;

  bulk_ticket ticket(std::uint64_t size_bytes) const {
    return {bulk_endpoint{"127.0.0.1", port_, {}}.to_string(), 1, size_bytes};
  }

 private:
  troupe::descriptor listener_;
  std::uint16_t port_;
  std::thread thread_;
};

/// Answers one request with `content`, as a good peer would.
inline void serve(plain_socket& socket, std::span<const std::byte> content) {
  if (!socket.receive_frame<bulk_request>()) return;
  socket.send_frame(bulk_reply{.size_bytes = content.size()});
  socket.send(content);
}

/// A process that runs `work` and then waits to be killed. Made while this process has no other threads.
class child {
 public:
  explicit child(const std::function<bulk_ticket()>& work) {
    std::array<int, 2> ends{};
    BOOST_REQUIRE_EQUAL(::pipe(ends.data()), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const auto ticket = work();
      const auto text = ticket.endpoint + " " + std::to_string(ticket.number) + "\n";
      if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    const troupe::descriptor from_child{ends[0]};
    for (char next = 0; ::read(from_child.get(), &next, 1) == 1 && next != '\n';) line_ += next;
  }
  ~child() { kill(); }
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  bulk_ticket ticket(std::uint64_t size_bytes) const {
    const auto space = line_.find(' ');
    return {line_.substr(0, space), std::stoull(line_.substr(space + 1)), size_bytes};
  }
  void stop() const {
    ::kill(process_, SIGSTOP);
    auto how = 0;
    ::waitpid(process_, &how, WUNTRACED);
  }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
  std::string line_;
};

}  // namespace bulk_test
