#include <troupe/runtime/door/watched_channel.hpp>

#include <utility>

#include <sys/epoll.h>

namespace troupe {

struct watched_channel::state : std::enable_shared_from_this<state> {
  state(event_loop& in, std::optional<tls_session> under, event_loop::events expects,
        std::function<void(event_loop::events)> tells)
      : loop(in), session(std::move(under)), expected(expects), ready(std::move(tells)) {}

  /// Keeps itself while `ready` may destroy the channel.
  void tell(event_loop::events happened) {
    const auto self = shared_from_this();
    const auto told = ready;
    told(happened);
    look_into_session();
  }

  /// What lies there is told of in a turn of its own, so that others have theirs.
  void look_into_session() {
    if (!socket || !session || (expected & EPOLLIN) == 0 || session->buffered_bytes() == 0) return;
    if (std::exchange(is_posted, true)) return;
    loop.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->is_posted = false;
      if (self->socket) self->tell(EPOLLIN);
    });
  }

  event_loop& loop;
  std::unique_ptr<watched_socket> socket;
  std::optional<tls_session> session;
  event_loop::events expected;
  const std::function<void(event_loop::events)> ready;
  bool is_posted = false;
};

watched_channel::watched_channel(event_loop& loop, channel connection, event_loop::events expected,
                                 std::function<void(event_loop::events)> ready) {
  auto [socket, session] = std::move(connection).take_apart();
  state_ = std::make_shared<state>(loop, std::move(session), expected, std::move(ready));
  state_->socket = std::make_unique<watched_socket>(
      loop, std::move(socket), expected, [of = state_.get()](event_loop::events happened) { of->tell(happened); });
  state_->look_into_session();
}

watched_channel::~watched_channel() {
  // Before the socket, whose end it may still say.
  state_->session.reset();
  state_->socket.reset();
}

void watched_channel::expect(event_loop::events expected) {
  state_->expected = expected;
  state_->socket->expect(expected);
  state_->look_into_session();
}

stream_progress watched_channel::receive_some(std::span<std::byte> into) {
  return state_->session ? state_->session->receive_some(into) : troupe::receive_some(state_->socket->get(), into);
}

stream_progress watched_channel::send_some(std::span<const std::byte> from, bool more) {
  return state_->session ? state_->session->send_some(from) : troupe::send_some(state_->socket->get(), from, more);
}

}  // namespace troupe
