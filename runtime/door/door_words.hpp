// What is said at a door, as bytes: who comes, what for, and that he may enter.
//
//   visitor                                    host
//     hello   who, what for, a number   ---->
//             <----   hello   whether a proof is asked for, a number, the id of its process
//     proof   its key for this host     ---->
//             <----   welcome   its proof, its key for this visitor, who;  or at any time: refusal   why
//
// Each frame has the same head of 12 bytes: "TROUPE\r\n", the version, its kind, and how many bytes follow, at most
// `words_bytes_max`, the larger byte first. The head and a refusal's content are the same in every version, so that
// processes of different ones can tell each other so. The line's end makes an HTTP server give up at once.
//
// Numbers have the larger byte first; a text has its length in 2 bytes before it. Reading checks everything, takes no
// memory but what has come, and refuses what is left over, and names that are more than words: they reach the log.
#pragma once

#include <troupe/actors/messages/peer_identity.hpp>
#include <troupe/device/base/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

inline constexpr std::uint8_t door_version = 3;
inline constexpr std::size_t words_head_bytes = 12;
inline constexpr std::size_t words_bytes_max = 1000;
/// So that a proof and a key have room before it.
inline constexpr std::size_t hello_bytes_max = 950;

/// What a connection is for.
enum class door_service : std::uint8_t {
  /// Messages between actors.
  messages = 1,
  /// Large tensors.
  tensors = 2,
  /// The members of a group of replicas.
  group = 3,
};
std::string to_string(door_service service);

/// What a visitor wants, and which of its kind: the meeting of a group; otherwise nothing.
struct door_wish {
  // NOLINTNEXTLINE(google-explicit-constructor): mostly the service is all.
  door_wish(door_service wanted, std::string which = {}) : service(wanted), topic(std::move(which)) {}

  door_service service;
  std::string topic;
};

enum class word_kind : std::uint8_t { hello = 1, proof = 2, welcome = 3, refusal = 4 };

using door_number = std::array<std::byte, 16>;

struct door_hello {
  door_service wanted = door_service::messages;
  /// Which of its kind.
  std::string topic;
  /// Without key and proof, which the handshake adds.
  peer_identity who;
  /// Whether the speaker has a secret, and so expects a proof.
  bool asks_for_proof = false;
  /// Random, for this connection only.
  door_number number = {};

  bool operator==(const door_hello&) const = default;
};

struct word_head {
  std::uint8_t version = door_version;
  word_kind kind = word_kind::hello;
  std::size_t content_bytes = 0;
};

/// A whole frame. `content` is cut off at the limit, which only a refusal's can reach.
std::string frame_of(word_kind kind, std::string_view content);
/// Nothing: these bytes, `words_head_bytes` of them, begin no frame of a door. Its version may be another one.
std::optional<word_head> read_head(std::string_view bytes);

/// @throws invalid_argument_error for a party whose texts do not fit into a frame
std::string content_of(const door_hello& hello);
/// Nothing: malformed.
std::optional<door_hello> read_hello(std::string_view content);

std::string content_of_refusal(const status& why);
/// What can't be printed is replaced. Never ok.
status read_refusal(std::string_view content);

}  // namespace troupe
