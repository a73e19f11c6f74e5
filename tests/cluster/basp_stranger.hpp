// A stranger that speaks CAF's protocol between processes, BASP, frame by frame: it says what no actor system would.
//
// It comes in by the door as anybody may who needs no secret. Behind it, a frame is a header of 32 bytes and what it
// announces. A client says its node id first. A process that listens
// answers with its own and the id of the actor that it publishes there, its door.
//
// Nothing here waits for longer than its limit, and whatever the other side does is no error: it may close at any time.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>

#include <caf/actor_system.hpp>
#include <caf/io/basp/header.hpp>
#include <caf/message.hpp>
#include <caf/node_id.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::basp {

using caf::io::basp::header;
using caf::io::basp::message_type;

inline constexpr std::size_t header_bytes = caf::io::basp::header_size;

/// Bits of a header's operation_data that make it the id of an ordinary message, or of one of a stream.
inline constexpr std::uint64_t ordinary = std::uint64_t{1} << 60;
inline constexpr std::uint64_t upstream = std::uint64_t{2} << 60;
inline constexpr std::uint64_t downstream = std::uint64_t{3} << 60;

std::string bytes_of(header content);
/// Of at least `header_bytes` bytes.
header header_of(std::string_view bytes);

/// A whole frame; the header says how long it is.
std::string frame(header content, std::string_view payload);
/// The beginning of one that announces this much and brings nothing of it.
std::string announcement(message_type kind, std::uint32_t payload_bytes);
/// `flags`: header::select_connection_flag asks the other side to use this connection for all that it sends.
std::string client_handshake(const caf::node_id& own, std::uint8_t flags = 0);
/// What begins the content of a frame that others are to pass on.
std::string route(const caf::node_id& source, const caf::node_id& destination);
/// The content of a frame that brings this message.
std::string content_of(caf::actor_system& system, const caf::message& content);

/// What a client has said after it had come in by the door.
std::string behind_the_door(std::string_view said);
/// Who greets in the first of these frames; nobody if it is no greeting.
caf::node_id greeter_in(std::string_view said);

/// The frames of what a client has said. What is no whole frame at the end is left out.
std::vector<std::string> frames_of(std::string_view said);

/// A node that is nowhere.
caf::node_id made_up_node(std::mt19937& random);
/// The node that `to_string` shows so.
caf::node_id node_of(std::string_view text);
/// Another process on the host of this one.
caf::node_id neighbour_of(const caf::node_id& node, std::uint32_t process);

std::string noise(std::mt19937& random, std::size_t size_bytes);

struct greeting {
  caf::node_id node;
  caf::actor_id door = 0;
};

class stranger {
 public:
  using milliseconds = std::chrono::milliseconds;
  /// How long the other side may take to say or to read something.
  static constexpr milliseconds patience{10'000};

  /// Connects. Without success all else fails, too.
  explicit stranger(const task_address& where);

  const descriptor& file() const { return file_; }

  /// Comes in by the other side's door, which has this secret. False when it may not.
  bool enter(const caf::node_id& own, const std::shared_ptr<const cluster_secret>& secret = nullptr);
  /// Comes in, says who it is, and hears who the other side is.
  std::optional<greeting> greet(const caf::node_id& own);
  /// False when the other side has closed, or does not read.
  bool say(std::string_view bytes);
  /// The same, but what the other side says stays unread.
  bool say_and_hear_nothing(std::string_view bytes);
  /// Nothing more will be said: the other side reads all of it, then it closes, unless it has done so. False if not.
  bool end(milliseconds limit = patience);

  /// Reads what is there. False when the other side has closed.
  bool is_open();

 private:
  bool ready(short events, std::chrono::steady_clock::time_point deadline) const;
  bool send_while(std::string_view bytes, short events, const std::function<bool()>& goes_on);
  /// Reads until there is so much. Less: the other side has closed, or takes too long.
  std::string hear(std::size_t size_bytes);

  descriptor file_;
};

/// How many of them the other side has not closed, as soon as it has closed all, or else at the end of the time.
std::size_t open_after(std::vector<stranger>& strangers, std::chrono::milliseconds limit);

}  // namespace troupe::basp
