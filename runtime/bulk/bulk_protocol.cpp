#include <troupe/runtime/bulk/bulk_protocol.hpp>

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace troupe {

namespace {

constexpr std::string_view refusal_prefix = "refused:";

template <class Number>
bool parse_number(std::string_view text, Number& number, int base) {
  const auto* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number, base);
  return failure == std::errc{} && stopped == end;
}

template <class Bytes>
bool parse_bytes(std::string_view text, Bytes& bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (auto& each : bytes) {
    std::uint8_t value = 0;
    if (!parse_number(text.substr(0, 2), value, 16)) return false;
    text.remove_prefix(2);
    each = static_cast<typename Bytes::value_type>(value);
  }
  return true;
}

/// Takes what follows the last `mark` off `text`; nothing without a mark.
std::string_view take_last(std::string_view& text, char mark) {
  const auto position = text.rfind(mark);
  if (position == std::string_view::npos) return {};
  const auto last = text.substr(position + 1);
  text = text.substr(0, position);
  return last;
}

}  // namespace

std::string bulk_endpoint::address() const {
  const auto is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string bulk_endpoint::to_string() const {
  auto text = address() + '/';
  for (const auto part : secret) text += fmt::format("{:02x}", std::to_integer<unsigned>(part));
  return fmt::format("{}/{}/{}", text, troupe::to_string(offerer.process), offerer.certified_role);
}

bulk_endpoint bulk_endpoint::parse(const std::string& text) {
  bulk_endpoint result;
  std::string_view rest = text;
  result.offerer.certified_role = take_last(rest, '/');
  const auto process = take_last(rest, '/');
  const auto secret = take_last(rest, '/');
  const auto address = rest;
  const auto port = take_last(rest, ':');
  if (rest.size() > 2 && rest.front() == '[' && rest.back() == ']') rest = rest.substr(1, rest.size() - 2);
  result.host = rest;
  if (rest.empty() || !parse_number(port, result.port, 10) || !parse_bytes(secret, result.secret) ||
      !parse_bytes(process, result.offerer.process.bytes)) {
    // Only the part without the secret is shown.
    throw invalid_argument_error{fmt::format(
        "the endpoint of a bulk ticket is malformed near \"{}\"; expected host:port/secret/process/role with a "
        "secret and a process of 32 hexadecimal digits each: use tickets as offer() returns them",
        address.substr(0, 128))};
  }
  return result;
}

std::string refusal_endpoint(const status& why) {
  return fmt::format("{}{}:{}", refusal_prefix, static_cast<unsigned>(why.code()), why.message());
}

status refusal_in(const std::string& endpoint) {
  std::string_view rest = endpoint;
  if (!rest.starts_with(refusal_prefix)) return {};
  rest.remove_prefix(refusal_prefix.size());
  const auto colon = rest.find(':');
  std::uint8_t code = 0;
  constexpr auto last_code = static_cast<std::uint8_t>(status_code::unauthenticated);
  const auto readable =
      colon != std::string_view::npos && parse_number(rest.substr(0, colon), code, 10) && code > 0 && code <= last_code;
  if (!readable) return {status_code::data_loss, "a sender could not keep bulk data, and its reason is unreadable"};
  return {static_cast<status_code>(code),
          fmt::format("the sender could not keep bulk data: {}", rest.substr(colon + 1))};
}

}  // namespace troupe
