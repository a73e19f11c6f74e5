#include <troupe/device/collectives/internal/rank_messages.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe::rank_messages {

namespace {

static_assert(std::endian::native == std::endian::little, "the heads are written as they lie in memory");

/// "trnk".
constexpr std::uint32_t magic_number = 0x6b6e7274;

struct raw_head {
  std::uint32_t magic = magic_number;
  std::uint32_t kind = 0;
  std::uint64_t round = 0;
  std::uint64_t content_bytes = 0;
  std::int64_t count = 0;
  std::int32_t root = 0;
  std::uint8_t collective = 0;
  std::uint8_t op = 0;
  std::uint8_t type = 0;
  std::array<std::uint8_t, 21> unused = {};
};
static_assert(sizeof(raw_head) == head_bytes, "a head has no padding");

bool is_known(const raw_head& raw) {
  return raw.magic == magic_number && (raw.kind == 1 || raw.kind == 2) &&
         raw.collective <= static_cast<std::uint8_t>(collective_kind::barrier) &&
         raw.op <= static_cast<std::uint8_t>(reduce_op::product) &&
         raw.type <= static_cast<std::uint8_t>(dtype::boolean);
}

}  // namespace

void write_head(const message_head& head, std::span<std::byte, head_bytes> into) {
  const raw_head raw{.kind = static_cast<std::uint32_t>(head.kind),
                     .round = head.round,
                     .content_bytes = head.content_bytes,
                     .count = head.call.count,
                     .root = head.call.root,
                     .collective = static_cast<std::uint8_t>(head.call.kind),
                     .op = static_cast<std::uint8_t>(head.call.op),
                     .type = static_cast<std::uint8_t>(head.call.type)};
  std::memcpy(into.data(), &raw, sizeof(raw));
}

std::optional<message_head> read_head(std::span<const std::byte, head_bytes> bytes) {
  raw_head raw;
  std::memcpy(&raw, bytes.data(), sizeof(raw));
  if (!is_known(raw)) return std::nullopt;
  return message_head{.kind = static_cast<message_kind>(raw.kind),
                      .round = raw.round,
                      .content_bytes = raw.content_bytes,
                      .call = {.kind = static_cast<collective_kind>(raw.collective),
                               .op = static_cast<reduce_op>(raw.op),
                               .type = static_cast<dtype>(raw.type),
                               .count = raw.count,
                               .root = raw.root}};
}

// --- farewells -------------------------------------------------------------------------------------------------------

std::vector<std::byte> farewell_of(const status& why) {
  const auto text = why.causes().empty() ? why.message() : why.render();
  const auto code = static_cast<std::uint32_t>(why.code());
  const auto size = std::min(text.size(), farewell_text_max);
  std::vector<std::byte> message(head_bytes + sizeof(code) + size);
  const std::span all{message};
  write_head({.kind = message_kind::farewell, .content_bytes = sizeof(code) + size, .call = {}},
             all.first<head_bytes>());
  std::memcpy(all.data() + head_bytes, &code, sizeof(code));
  std::memcpy(all.data() + head_bytes + sizeof(code), text.data(), size);
  return message;
}

status read_farewell(std::span<const std::byte> content) {
  std::uint32_t code = 0;
  if (content.size() < sizeof(code)) return {status_code::aborted, "a rank has given up"};
  std::memcpy(&code, content.data(), sizeof(code));
  const auto text = content.subspan(sizeof(code));
  const auto is_code = code >= 1 && code <= static_cast<std::uint32_t>(status_code::unauthenticated);
  return {is_code ? static_cast<status_code>(code) : status_code::aborted,
          std::string{reinterpret_cast<const char*>(text.data()), text.size()}};
}

// --- memory ----------------------------------------------------------------------------------------------------------

std::span<const std::byte> outbox::message(const message_head& head) {
  const std::span all{memory_.mutable_data(), memory_.size_bytes()};
  write_head(head, all.first<head_bytes>());
  return all.first(head_bytes + head.content_bytes);
}

std::size_t inbox::room_for(std::size_t content_max) {
  return std::max(content_max, sizeof(std::uint32_t) + farewell_text_max);
}

inbox::state inbox::receive(byte_stream& from) {
  const std::span all{memory_.mutable_data(), memory_.size_bytes()};
  while (!is_whole()) {
    const auto expected = head_ ? head_bytes + head_->content_bytes : head_bytes;
    const auto progress = from.receive_some(all.subspan(received_, expected - received_));
    if (progress.blocked) return state::arriving;
    if (progress.broken) {
      reason_ = progress.reason;
      return state::broken;
    }
    received_ += progress.bytes;
    if (head_ || received_ < head_bytes) continue;
    head_ = read_head(all.first<head_bytes>());
    if (!head_ || head_->content_bytes > all.size() - head_bytes) return state::malformed;
  }
  return state::whole;
}

}  // namespace troupe::rank_messages
