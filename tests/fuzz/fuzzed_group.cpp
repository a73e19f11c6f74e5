// What the ranks of a group send each other.
#include "decoder.hpp"

#include <troupe/device/collectives/internal/rank_messages.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace troupe::fuzzed_group {

namespace {

using namespace rank_messages;

constexpr std::size_t content_max = 4096;

/// A connection over which somebody says this and hangs up.
class said final : public byte_stream {
 public:
  explicit said(std::string_view bytes) : rest_(std::as_bytes(std::span{bytes})) {}

  int socket() const override { return -1; }
  stream_progress receive_some(std::span<std::byte> into) override {
    const auto part = rest_.first(std::min(rest_.size(), into.size()));
    if (part.empty()) return {.broken = true};
    std::memcpy(into.data(), part.data(), part.size());
    rest_ = rest_.subspan(part.size());
    return {.bytes = part.size()};
  }
  stream_progress send_some(std::span<const std::byte>) override { return {.broken = true}; }

 private:
  std::span<const std::byte> rest_;
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string round_of(std::uint64_t number, std::size_t bytes) {
  std::array<std::byte, head_bytes> head{};
  write_head({.round = number,
              .content_bytes = bytes,
              .call = {.kind = collective_kind::all_reduce, .type = dtype::float32, .count = 100}},
             head);
  return text_of(head) + std::string(bytes, 'x');
}

std::vector<std::string> conversations() {
  const auto parting = text_of(farewell_of({status_code::cancelled, "enough"}));
  return {round_of(1, 0), round_of(1, 400) + round_of(2, content_max), round_of(7, 9) + parting, parting.substr(0, 70)};
}

void conversation(std::string_view bytes) {
  said from{bytes};
  inbox arriving{content_max};
  while (arriving.receive(from) == inbox::state::whole) {
    const auto& head = *arriving.head();
    static_cast<void>(to_string(head.call));
    if (head.kind == message_kind::farewell)
      static_cast<void>(read_farewell({arriving.content(), head.content_bytes}).render());
    arriving.clear();
  }
}

const decoder messages{"group-messages", conversations, conversation};

}  // namespace

}  // namespace troupe::fuzzed_group
