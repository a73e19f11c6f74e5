#include <troupe/runtime/door/conversation.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <span>

namespace troupe {

conversation::progress conversation::go_on(int socket) {
  while (true) {
    if (!say(socket)) return progress::gone;
    if (side_->is_over()) return progress::over;
    const auto missing = side_->expected_bytes() - heard_bytes_;
    const auto came = receive_some(socket, std::as_writable_bytes(std::span{heard_}).subspan(heard_bytes_, missing));
    if (came.blocked) return progress::waits;
    if (came.broken) return progress::gone;
    heard_bytes_ += came.bytes;
    if (heard_bytes_ == side_->expected_bytes()) side_->hear({heard_.data(), std::exchange(heard_bytes_, 0)});
  }
}

/// Less than what every socket takes at once, unless its peer reads nothing.
bool conversation::say(int socket) {
  const auto words = side_->take_words();
  auto rest = std::as_bytes(std::span{words});
  while (!rest.empty()) {
    const auto went = send_some(socket, rest);
    if (went.bytes == 0) return false;
    rest = rest.subspan(went.bytes);
  }
  return true;
}

}  // namespace troupe
