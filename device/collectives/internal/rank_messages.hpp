// What ranks of a group send each other over a connection, and the memory that it lies in. Private to
// message_communicator.cpp.
//
//   head of 64 bytes | content
//
// A message of a round has what the rank gives in it; a farewell says why the rank has given up, and nothing follows.
// Numbers are little-endian. Reading checks everything, and takes no memory but what a group's messages need.
#pragma once

#include <troupe/device/base/byte_stream.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/collective.hpp>
#include <troupe/device/tensor/buffer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe::rank_messages {

inline constexpr std::size_t head_bytes = 64;
inline constexpr std::size_t farewell_text_max = 1000;

enum class message_kind : std::uint32_t { round = 1, farewell = 2 };

struct message_head {
  message_kind kind = message_kind::round;
  /// 0 of a farewell.
  std::uint64_t round = 0;
  std::size_t content_bytes = 0;
  collective call;

  bool operator==(const message_head&) const = default;
};

void write_head(const message_head& head, std::span<std::byte, head_bytes> into);
/// Nothing: no rank of this version sends that.
std::optional<message_head> read_head(std::span<const std::byte, head_bytes> bytes);

/// A whole message. Causes are told in its text.
std::vector<std::byte> farewell_of(const status& why);
/// Never ok.
status read_farewell(std::span<const std::byte> content);

/// Memory from which a message is sent, to one rank or several.
class outbox {
 public:
  explicit outbox(std::size_t content_max) : memory_(buffer::allocate(head_bytes + content_max)) {}

  /// Aligned to 64 bytes.
  std::byte* content() { return memory_.mutable_data() + head_bytes; }
  /// The message with what was written to the content.
  std::span<const std::byte> message(const message_head& head);

 private:
  buffer memory_;
};

/// Memory in which one message at a time arrives of one rank.
class inbox {
 public:
  explicit inbox(std::size_t content_max) : memory_(buffer::allocate(head_bytes + room_for(content_max))) {}

  enum class state { arriving, whole, broken, malformed };

  /// Forgets the message that was whole.
  void clear() { received_ = 0, head_.reset(); }
  /// Takes what has come, and not more than the message.
  state receive(byte_stream& from);
  /// Once its head has come.
  const std::optional<message_head>& head() const { return head_; }
  /// Aligned to 64 bytes.
  const std::byte* content() const { return memory_.data() + head_bytes; }
  /// An errno, or 0: the other side has closed the connection. Once it is broken.
  int reason() const { return reason_; }
  bool is_whole() const { return head_ && received_ == head_bytes + head_->content_bytes; }

 private:
  static std::size_t room_for(std::size_t content_max);

  buffer memory_;
  std::size_t received_ = 0;
  std::optional<message_head> head_;
  int reason_ = 0;
};

}  // namespace troupe::rank_messages
