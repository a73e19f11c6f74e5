#include <troupe/runtime/door/client_hello.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace troupe {

namespace {

using bytes = std::span<const std::byte>;

// RFC 8446, 4 and 5.1.
constexpr std::byte handshake_record{0x16};
constexpr std::byte major_version{0x03};
constexpr std::byte client_hello_message{0x01};
constexpr std::size_t record_header_bytes = 5;
constexpr std::size_t record_bytes_max = std::size_t{1} << 14;
constexpr std::size_t message_header_bytes = 4;

constexpr std::size_t random_bytes = 32;
constexpr std::size_t session_bytes_max = 32;
constexpr std::size_t supported_versions = 43;
constexpr std::size_t tls_1_3 = 0x0304;

/// Reads fields one after the other. Once one is longer than what is there, all that follow are empty.
class field_reader {
 public:
  explicit field_reader(bytes rest) : rest_(rest) {}

  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }

  bytes take(std::size_t count) {
    if (count > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  /// Big-endian, of so many bytes.
  std::size_t number(std::size_t width) {
    std::size_t result = 0;
    for (const auto each : take(width)) result = result << 8 | std::to_integer<std::size_t>(each);
    return result;
  }
  /// What follows its own length.
  bytes vector(std::size_t width_of_length) { return take(number(width_of_length)); }

 private:
  bytes rest_;
  bool failed_ = false;
};

/// The content of the extension supported_versions; nothing if it is malformed.
std::optional<bool> lists_tls_1_3(bytes extension) {
  field_reader outer{extension};
  const auto versions = outer.vector(1);
  if (outer.failed() || !outer.at_end() || versions.empty() || versions.size() % 2 != 0) return std::nullopt;
  auto found = false;
  for (field_reader list{versions}; !list.at_end();) found |= list.number(2) == tls_1_3;
  return found;
}

client_hello_kind read_extensions(bytes extensions) {
  std::optional<bool> offered;
  for (field_reader list{extensions}; !list.at_end();) {
    const auto type = list.number(2);
    const auto content = list.vector(2);
    if (list.failed()) return client_hello_kind::malformed;
    if (type != supported_versions) continue;
    if (offered) return client_hello_kind::malformed;  // a client sends each extension once
    offered = lists_tls_1_3(content);
    if (!offered) return client_hello_kind::malformed;
  }
  return offered.value_or(false) ? client_hello_kind::with_tls_1_3 : client_hello_kind::without_tls_1_3;
}

/// The message without its header.
client_hello_kind read_message(bytes message) {
  field_reader fields{message};
  fields.number(2);  // the version of before TLS 1.3
  fields.take(random_bytes);
  const auto session = fields.vector(1);
  const auto ciphers = fields.vector(2);
  const auto compressions = fields.vector(1);
  if (fields.failed() || session.size() > session_bytes_max || ciphers.empty() || ciphers.size() % 2 != 0 ||
      compressions.empty())
    return client_hello_kind::malformed;
  if (fields.at_end()) return client_hello_kind::without_tls_1_3;  // as before there were extensions
  const auto extensions = fields.vector(2);
  return fields.failed() || !fields.at_end() ? client_hello_kind::malformed : read_extensions(extensions);
}

bool begins_as_record(bytes sent) {
  return (sent.empty() || sent[0] == handshake_record) && (sent.size() < 2 || sent[1] == major_version);
}

/// How long the message is with its header, once that is known.
std::optional<std::size_t> announced_bytes(bytes message) {
  if (message.size() < message_header_bytes) return std::nullopt;
  return message_header_bytes + field_reader{message.subspan(1, message_header_bytes - 1)}.number(3);
}

}  // namespace

client_hello_kind read_client_hello(std::span<const std::byte> sent) {
  std::vector<std::byte> message;
  for (auto rest = sent;;) {
    if (!begins_as_record(rest)) return client_hello_kind::malformed;
    if (rest.size() < record_header_bytes) return client_hello_kind::incomplete;
    const auto record_bytes = field_reader{rest.subspan(3, 2)}.number(2);
    if (record_bytes == 0 || record_bytes > record_bytes_max) return client_hello_kind::malformed;
    rest = rest.subspan(record_header_bytes);
    const auto end_of_record = message.size() + record_bytes;
    const auto part = rest.first(std::min(record_bytes, rest.size()));
    message.insert(message.end(), part.begin(), part.end());
    if (!message.empty() && message.front() != client_hello_message) return client_hello_kind::malformed;
    const auto announced = announced_bytes(message);
    // The server answers it before the client may say more.
    if (announced && end_of_record > *announced) return client_hello_kind::malformed;
    if (announced == message.size()) return read_message(bytes{message}.subspan(message_header_bytes));
    if (part.size() < record_bytes) return client_hello_kind::incomplete;
    rest = rest.subspan(record_bytes);
  }
}

}  // namespace troupe
