#include <troupe/device/base/printable_text.hpp>
#include <troupe/runtime/door/door_words.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace troupe {

namespace {

constexpr std::string_view magic = "TROUPE\r\n";
static_assert(magic.size() + 4 == words_head_bytes);

template <class Number>
void add(std::string& bytes, Number number) {
  for (auto shift = static_cast<int>(sizeof(Number)) * 8 - 8; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> shift));
}

void add_text(std::string& bytes, std::string_view text) {
  add(bytes, static_cast<std::uint16_t>(text.size()));
  bytes += text;
}

/// Takes parts from the front; after the first that is not there, nothing.
class word_reader {
 public:
  explicit word_reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t count) {
    good_ = good_ && count <= rest_.size();
    if (!good_) return {};
    const auto result = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return result;
  }

  template <class Number>
  Number number() {
    std::uint64_t result = 0;
    for (const auto each : take(sizeof(Number))) result = result << 8 | static_cast<unsigned char>(each);
    return static_cast<Number>(result);
  }

  std::string text() { return std::string{take(number<std::uint16_t>())}; }

  bool is_at_end() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

bool is_known(door_service service) { return service >= door_service::messages && service <= door_service::group; }
bool is_known(word_kind kind) { return kind >= word_kind::hello && kind <= word_kind::refusal; }
bool is_code(std::uint8_t number) {
  return number > static_cast<std::uint8_t>(status_code::ok) &&
         number <= static_cast<std::uint8_t>(status_code::unauthenticated);
}

}  // namespace

std::string to_string(door_service service) {
  switch (service) {
    case door_service::messages:
      return "messages";
    case door_service::tensors:
      return "tensors";
    case door_service::group:
      return "a group";
  }
  return fmt::format("service {}", static_cast<int>(service));
}

std::string frame_of(word_kind kind, std::string_view content) {
  content = content.substr(0, words_bytes_max);
  std::string frame{magic};
  add(frame, door_version);
  add(frame, static_cast<std::uint8_t>(kind));
  add_text(frame, content);
  return frame;
}

std::optional<word_head> read_head(std::string_view bytes) {
  word_reader reader{bytes};
  if (reader.take(magic.size()) != magic) return std::nullopt;
  word_head head;
  head.version = reader.number<std::uint8_t>();
  head.kind = static_cast<word_kind>(reader.number<std::uint8_t>());
  head.content_bytes = reader.number<std::uint16_t>();
  if (!reader.is_at_end() || head.content_bytes > words_bytes_max || !is_known(head.kind)) return std::nullopt;
  return head;
}

std::string content_of(const door_hello& hello) {
  std::string content;
  add(content, static_cast<std::uint8_t>(hello.wanted));
  add(content, static_cast<std::uint8_t>(hello.asks_for_proof));
  content.append(reinterpret_cast<const char*>(hello.number.data()), hello.number.size());
  add(content, hello.who.incarnation);
  add(content, hello.who.build_id);
  add(content, static_cast<std::uint32_t>(hello.who.task.index));
  const auto& process = hello.who.system.process.bytes;
  content.append(process.begin(), process.end());
  add(content, hello.who.system.number);
  for (const auto* const text : {&hello.who.task.job, &hello.who.cluster, &hello.topic}) add_text(content, *text);
  if (content.size() <= hello_bytes_max) return content;
  throw invalid_argument_error{fmt::format("the names of {} take {} bytes, and a door hears at most {} from anybody",
                                           to_string(hello.who), content.size(), hello_bytes_max)};
}

std::optional<door_hello> read_hello(std::string_view content) {
  word_reader reader{content};
  door_hello hello;
  hello.wanted = static_cast<door_service>(reader.number<std::uint8_t>());
  const auto asks = reader.number<std::uint8_t>();
  hello.asks_for_proof = asks == 1;
  const auto number = reader.take(hello.number.size());
  std::ranges::transform(number, hello.number.begin(), [](char each) { return static_cast<std::byte>(each); });
  hello.who.incarnation = reader.number<std::uint64_t>();
  hello.who.build_id = reader.number<std::uint64_t>();
  const auto index = reader.number<std::uint32_t>();
  hello.who.task.index = static_cast<int>(index);
  const auto process = reader.take(hello.who.system.process.bytes.size());
  std::ranges::copy(process, hello.who.system.process.bytes.begin());
  hello.who.system.number = reader.number<std::uint32_t>();
  for (auto* const text : {&hello.who.task.job, &hello.who.cluster, &hello.topic}) *text = reader.text();
  constexpr auto index_max = static_cast<std::uint32_t>(std::numeric_limits<int>::max());
  if (!reader.is_at_end() || !is_known(hello.wanted) || asks > 1 || index > index_max) return std::nullopt;
  for (const auto* const name : {&hello.who.task.job, &hello.who.cluster})
    if (!name->empty() && !is_plain_name(*name)) return std::nullopt;
  return hello;
}

std::string content_of_refusal(const status& why) {
  std::string content;
  add(content, static_cast<std::uint8_t>(why.code()));
  return content + why.message();
}

status read_refusal(std::string_view content) {
  word_reader reader{content};
  const auto code = reader.number<std::uint8_t>();
  const auto text = printable_text(content.substr(std::min<std::size_t>(content.size(), 1)), words_bytes_max);
  return {is_code(code) ? static_cast<status_code>(code) : status_code::unknown,
          text.empty() ? "it did not say why" : text};
}

}  // namespace troupe
