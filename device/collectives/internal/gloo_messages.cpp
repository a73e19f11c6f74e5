#include <troupe/device/collectives/internal/gloo_messages.hpp>

#include <algorithm>
#include <utility>

namespace troupe::gloo_messages {

farewell encode(const status& why) {
  const auto text = why.causes().empty() ? why.message() : why.render();
  farewell message = {};
  message.given = 1;
  message.code = static_cast<std::uint32_t>(why.code());
  message.length = static_cast<std::uint32_t>(std::min(text.size(), message.text.size()));
  std::memcpy(message.text.data(), text.data(), message.length);
  return message;
}

status decode(const farewell& message) {
  const auto valid = message.code >= 1 && message.code <= static_cast<std::uint32_t>(status_code::unauthenticated);
  const auto length = std::min<std::size_t>(message.length, message.text.size());
  return {valid ? static_cast<status_code>(message.code) : status_code::aborted,
          std::string{message.text.data(), length}};
}

void outbox::send(int to, std::size_t bytes) {
  registered_->send(to, stream::rounds, 0, sizeof(header) + bytes);
  ++sending_;
}

void outbox::finish(std::chrono::milliseconds limit) {
  for (; sending_ > 0; --sending_) registered_->waitSend(nullptr, limit);
}

inbox::inbox(gloo::Context& context, int from, std::size_t bytes_max)
    : from_(from), stride_(sizeof(header) + bytes_max), memory_(buffer::allocate(2 * stride_ + sizeof(farewell))) {
  auto* const memory = memory_.mutable_data();
  std::memset(memory, 0, memory_.size_bytes());
  registered_ = context.createUnboundBuffer(memory, memory_.size_bytes());
  registered_->recv(from, stream::farewells, 2 * stride_, sizeof(farewell));
  // gloo tells only memory that still expects something that its connection has ended. Memory that is not told would
  // reach its limit when it is looked at, and then gloo closes all connections, before others are told a farewell.
  registered_->recv(from, stream::nothing, 0, 1);
}

void inbox::expect(std::uint64_t round) { registered_->recv(from_, stream::rounds, round % 2 * stride_, stride_); }

}  // namespace troupe::gloo_messages
