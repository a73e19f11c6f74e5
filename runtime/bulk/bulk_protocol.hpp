// What the two ends of the bulk transport say to each other, and what a ticket's endpoint means.
//
// A connection carries any number of exchanges, one after the other: the receiver of the data sends a request, the
// sender answers with a reply and, if that says `found`, the bytes. A receiver may ask for the parts of an offer on
// several connections, each part once. Each request proves with the sender's secret, which only tickets carry, that a
// ticket came from there: whoever merely connects reads nothing. Integers are little-endian. What is encrypted is the
// channel's business.
#pragma once

#include <troupe/actors/messages/peer_identity.hpp>
#include <troupe/device/base/error.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "the frames are written as they lie in memory");

/// What one connection sends or receives before the others get their turn.
inline constexpr std::size_t bulk_turn_bytes = std::size_t{1} << 20;

/// Made once by each process that offers. Never part of a message for people.
using bulk_secret = std::array<std::byte, 16>;

/// Bytes of an offer that belong together.
struct bulk_part {
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

struct bulk_request {
  static constexpr std::uint32_t magic_number = 0x71657274;  // "treq"
  static constexpr std::uint32_t current_version = 2;

  std::uint32_t magic = magic_number;
  std::uint32_t version = current_version;
  bulk_secret secret = {};
  std::uint64_t number = 0;
  /// Of the whole offer.
  std::uint64_t size_bytes = 0;
  bulk_part part = {};
};

enum class bulk_answer : std::uint32_t { found, not_found, other_size, other_secret, other_version };

struct bulk_reply {
  static constexpr std::uint32_t magic_number = 0x70657274;  // "trep"

  std::uint32_t magic = magic_number;
  bulk_answer answer = bulk_answer::found;
  /// Of the bytes that follow a `found`; what the offer holds for `other_size`; 0 otherwise.
  std::uint64_t size_bytes = 0;
};

static_assert(sizeof(bulk_request) == 56 && sizeof(bulk_reply) == 16, "frames have no padding");

/// Who must answer where a ticket's bytes are: the process that offers them. With certificates its role, too, so that
/// no process of another one can answer in its name.
struct bulk_offerer {
  process_id process;
  /// Empty: it has no certificate.
  std::string certified_role;

  bool operator==(const bulk_offerer&) const = default;
};

/// Where a ticket's bytes are: a ticket's endpoint is "host:port/secret/process/role", with an IPv6 address in
/// brackets. The host is an address in numbers; a name only after this process has put the host there that it has
/// dialled (dialled_host.hpp).
struct bulk_endpoint {
  std::string host;
  std::uint16_t port = 0;
  bulk_secret secret = {};
  bulk_offerer offerer = {};

  /// "host:port", for messages.
  std::string address() const;
  std::string to_string() const;
  /// Throws invalid_argument_error when `text` is no endpoint.
  static bulk_endpoint parse(const std::string& text);
};

/// An offer that could not be kept still gives a ticket: one whose endpoint says why, so that the receiver learns it.
std::string refusal_endpoint(const status& why);
/// The reason if `endpoint` is a refusal, ok otherwise.
status refusal_in(const std::string& endpoint);

}  // namespace troupe
