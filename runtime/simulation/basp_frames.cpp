#include <troupe/runtime/simulation/basp_frames.hpp>

#include <caf/atom.hpp>
#include <caf/io/basp/header.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <type_traits>

namespace troupe {

namespace {

constexpr auto header_size = caf::io::basp::header_size;

/// A number of the header, which is big-endian.
template <class T>
T number_at(std::span<const char> header, std::size_t place) {
  T result = 0;
  for (const auto each : header.subspan(place, sizeof(T)))
    result = static_cast<T>(result << 8 | static_cast<unsigned char>(each));
  return result;
}

std::size_t payload_size(std::span<const char> header) { return number_at<std::uint32_t>(header, 4); }

/// CAF asks the servers that each node has, its first two actors, when it meets another one.
bool is_of_servers(std::span<const char> header) {
  constexpr caf::actor_id servers = 2;
  const auto source = number_at<std::uint64_t>(header, 16);
  const auto flags = static_cast<unsigned char>(header[3]);
  return (flags & caf::io::basp::header::named_receiver_flag) != 0 || (source != 0 && source <= servers);
}

bool is_message(std::span<const char> frame) {
  const auto kind = static_cast<caf::io::basp::message_type>(frame[0]);
  return (kind == caf::io::basp::message_type::direct_message || kind == caf::io::basp::message_type::routed_message) &&
         !is_of_servers(frame);
}

template <class Part>
bool contains(std::span<const char> bytes, const Part& part) {
  return std::search(bytes.begin(), bytes.end(), part.begin(), part.end()) != bytes.end();
}

}  // namespace

std::vector<basp_frame> frames_of(std::span<const char> written) {
  std::vector<basp_frame> result;
  while (written.size() >= header_size) {
    const auto size = header_size + payload_size(written);
    if (size > written.size()) break;
    const auto frame = written.first(size);
    result.push_back({frame, is_message(frame)});
    written = written.subspan(size);
  }
  if (!written.empty()) result.push_back({written, false});
  return result;
}

namespace {

/// Reads the parts of a message, as far as it knows their types.
class part_reader {
 public:
  explicit part_reader(std::span<const char> from) : from_(from) {}

  /// As text; just the type's name from the first one on that is no number, text or atom.
  std::string read(const std::string& type) {
    if (!stopped_)
      if (auto known = read_known(type)) return *known;
    stopped_ = true;
    return type;
  }

 private:
  std::optional<std::string> read_known(const std::string& type) {
    if (type == "@atom") {
      const auto value = number<std::uint64_t>();
      return value ? std::optional{caf::to_string(static_cast<caf::atom_value>(*value))} : std::nullopt;
    }
    if (type == "bool" || type == "@u8") return as_text(number<std::uint8_t>());
    if (type == "@i8") return as_text(number<std::int8_t>());
    if (type == "@i16") return as_text(number<std::int16_t>());
    if (type == "@u16") return as_text(number<std::uint16_t>());
    if (type == "@i32") return as_text(number<std::int32_t>());
    if (type == "@u32") return as_text(number<std::uint32_t>());
    if (type == "@i64") return as_text(number<std::int64_t>());
    if (type == "@u64") return as_text(number<std::uint64_t>());
    return type == "@str" ? text() : std::nullopt;
  }

  template <class T>
  std::optional<T> number() {
    if (from_.size() < sizeof(T)) return std::nullopt;
    const auto result = static_cast<T>(number_at<std::make_unsigned_t<T>>(from_, 0));
    from_ = from_.subspan(sizeof(T));
    return result;
  }
  template <class T>
  static std::optional<std::string> as_text(std::optional<T> value) {
    return value ? std::optional{std::to_string(*value)} : std::nullopt;
  }
  /// The length, seven bits a byte from the lowest on, then the signs.
  std::optional<std::string> text() {
    std::size_t length = 0;
    constexpr auto length_bits_max = 28;
    for (auto shift = 0;; shift += 7) {
      const auto next = number<std::uint8_t>();
      if (!next || shift > length_bits_max) return std::nullopt;
      length |= static_cast<std::size_t>(*next & 0x7f) << shift;
      if ((*next & 0x80) == 0) break;
    }
    if (length > from_.size()) return std::nullopt;
    constexpr std::size_t shown_max = 40;
    auto result = '"' + std::string{from_.data(), std::min(length, shown_max)} + (length > shown_max ? "...\"" : "\"");
    from_ = from_.subspan(length);
    return result;
  }

  std::span<const char> from_;
  bool stopped_ = false;
};

}  // namespace

std::string content_of(std::span<const char> message) {
  // CAF names all types before the parts: the length, then "@<>+first+second".
  constexpr std::string_view begin = "@<>";
  constexpr std::size_t length_max = 127;
  const auto payload = message.subspan(header_size);
  const auto found = std::search(payload.begin(), payload.end(), begin.begin(), begin.end());
  if (found == payload.begin() || found == payload.end()) return {};
  const auto length = static_cast<unsigned char>(*std::prev(found));
  const auto rest = payload.subspan(static_cast<std::size_t>(found - payload.begin()));
  // A longer one has a longer length: of those the first names will do.
  const auto names_size = std::min<std::size_t>(rest.size(), length <= length_max ? length : length_max);
  part_reader parts{length <= length_max ? rest.subspan(names_size) : rest.first(0)};
  std::istringstream names{std::string{rest.data(), names_size}};
  std::string result;
  std::string name;
  for (std::getline(names, name, '+'); std::getline(names, name, '+');)
    result += (result.empty() ? "" : ", ") + parts.read(name);
  return result;
}

bool has_type(std::span<const char> message, const std::string& type) {
  const auto payload = message.subspan(header_size);
  if (contains(payload, type)) return true;
  constexpr std::size_t atom_length_max = 10;
  if (type.size() > atom_length_max) return false;
  auto value = static_cast<std::uint64_t>(caf::atom_from_string(type));
  std::array<char, sizeof(value)> bytes{};
  for (auto each = bytes.rbegin(); each != bytes.rend(); ++each, value >>= 8) *each = static_cast<char>(value);
  return contains(payload, bytes);
}

}  // namespace troupe
