#include <troupe/runtime/door/certified_party.hpp>
#include <troupe/runtime/door/conversation.hpp>

#include <span>
#include <utility>

namespace troupe {

conversation::progress conversation::go_on(int socket) {
  if (tls_ && !is_private_)
    if (const auto begun = begin_tls(socket); begun != progress::over) return begun;
  while (true) {
    if (!say(socket)) return progress::gone;
    if (side_->is_over()) return progress::over;
    const auto missing = side_->expected_bytes() - heard_bytes_;
    const auto came = receive(socket, std::as_writable_bytes(std::span{heard_}).subspan(heard_bytes_, missing));
    if (came.blocked) return progress::waits;
    if (came.broken) return progress::gone;
    heard_bytes_ += came.bytes;
    if (heard_bytes_ == side_->expected_bytes()) side_->hear({heard_.data(), std::exchange(heard_bytes_, 0)});
  }
}

conversation::progress conversation::begin_tls(int socket) {
  if (!session_) session_.emplace(tls_, which_, socket);
  switch (session_->handshake()) {
    case tls_session::progress::wants_to_read:
      return progress::waits;
    case tls_session::progress::wants_to_write:
      return progress::gone;  // a new socket takes what a handshake says, unless its peer reads nothing
    case tls_session::progress::over:
      break;
  }
  failure_ = session_->result();
  is_private_ = failure_.ok();
  return is_private_ ? progress::over : progress::gone;
}

status conversation::prove(peer_identity& other) const {
  return session_ ? prove_by_certificate(other, session_->peer(), tls_->own_role()) : status{};
}

/// Less than what every socket takes at once, unless its peer reads nothing.
bool conversation::say(int socket) {
  const auto words = side_->take_words();
  auto rest = std::as_bytes(std::span{words});
  while (!rest.empty()) {
    const auto went = session_ ? session_->send_some(rest) : send_some(socket, rest);
    if (went.bytes == 0) return false;
    rest = rest.subspan(went.bytes);
  }
  return true;
}

stream_progress conversation::receive(int socket, std::span<std::byte> into) {
  return session_ ? session_->receive_some(into) : receive_some(socket, into);
}

}  // namespace troupe
