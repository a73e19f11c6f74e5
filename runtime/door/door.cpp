#include <troupe/runtime/door/conversation.hpp>
#include <troupe/runtime/door/door.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

namespace troupe {

status check_cluster(const peer_identity& host, const peer_identity& visitor) {
  if (host.cluster.empty() || visitor.cluster.empty() || host.cluster == visitor.cluster) return {};
  return {status_code::failed_precondition,
          fmt::format("it is a process of the cluster \"{}\", and the visitor one of \"{}\"", host.cluster,
                      visitor.cluster)};
}

namespace {

/// Who states no process counts as its task.
connection_owner owner_of(const peer_identity& who) {
  const auto is_member = who.is_member();
  connection_owner owner{.part = is_member ? connection_part::members : connection_part::clients, .peer = {}};
  if (who.system.process)
    owner.peer = to_string(who.system.process);
  else if (is_member)
    owner.peer = to_string(who.task);
  return owner;
}

}  // namespace

/// A visitor who was told why he is refused is waited for, so that he hears it before the connection is gone.
class door_reception final : public reception {
 public:
  explicit door_reception(door& at)
      : door_(at),
        talk_(std::make_unique<host_handshake>(at.options_.self, at.options_.secret,
                                               [this](door_hello& visitor) { return admit(visitor); }),
              tls_session::side::host, at.options_.tls ? at.options_.tls->current() : nullptr) {}

  finding hear(int socket) override {
    if (talk_.side().has_refused()) return wait_for_end(socket);
    switch (talk_.go_on(socket)) {
      case conversation::progress::waits:
        return finding::undecided;
      case conversation::progress::gone:
        return talk_.failure().ok() ? finding::gone : finding::wrong;
      case conversation::progress::over:
        break;
    }
    if (talk_.side().result().ok()) return finding::right;
    return talk_.side().has_refused() ? wait_for_end(socket) : finding::wrong;
  }

  std::string reason() const override {
    return talk_.failure().ok() ? talk_.side().result().message() : talk_.failure().message();
  }

  bool is_costly() const override { return talk_.is_in_tls_handshake(); }
  bool has_begun() const override { return talk_.has_begun(); }

  void welcome(descriptor connection) override {
    door_.welcome(channel{std::move(connection), talk_.take_session()}, talk_.side().other());
  }

 private:
  /// What else he has said by then is passed over, since closing with it unread could cost him the reason. Whoever says
  /// more than any words have has not listened.
  finding wait_for_end(int socket) {
    std::array<std::byte, words_bytes_max> rest;
    while (passed_over_ <= words_bytes_max) {
      const auto came = receive_some(socket, rest);
      if (came.blocked) return finding::undecided;
      if (came.broken) return finding::wrong;
      passed_over_ += came.bytes;
    }
    return finding::wrong;
  }

  status admit(door_hello& visitor) {
    if (auto why = talk_.prove(visitor.who); !why.ok()) return why;
    if (auto why = door_.admit(visitor); !why.ok()) return why;
    return ask_for_room(owner_of(visitor.who));
  }

  door& door_;
  conversation talk_;
  std::size_t passed_over_ = 0;
};

door::door(const std::string& host, std::uint16_t port, door_options options) : options_(std::move(options)) {
  // Here, and not when the first visitor comes, it shows whether the names fit.
  [[maybe_unused]] const host_handshake fits{options_.self, options_.secret, nullptr};
  acceptor_ = open_acceptor(
      host, port, [this] { return std::make_unique<door_reception>(*this); }, options_.strangers);
}

door::~door() = default;

void door::open_for(door_service what, serve how) {
  const std::scoped_lock lock{mutex_};
  services_[what] = std::move(how);
}

void door::close_for(door_service what) {
  const std::scoped_lock lock{mutex_};
  services_.erase(what);
}

status door::admit(const door_hello& visitor) const {
  if (auto why = check_cluster(options_.self, visitor.who); !why.ok()) return why;
  if (options_.check_peer)
    if (auto why = options_.check_peer(visitor.who); !why.ok()) return why;
  const std::scoped_lock lock{mutex_};
  if (services_.contains(visitor.wanted)) return {};
  return {status_code::unavailable, fmt::format("it has nobody for {} now", to_string(visitor.wanted))};
}

void door::welcome(channel connection, const door_hello& visitor) {
  const std::scoped_lock lock{mutex_};
  // What has ended since it was admitted closes the connection.
  if (const auto found = services_.find(visitor.wanted); found != services_.end())
    found->second(std::move(connection), visitor);
}

}  // namespace troupe
