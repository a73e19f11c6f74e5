#include <troupe/actors/messages/task.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <charconv>

namespace troupe {

namespace {

constexpr std::size_t host_length_max = 253;  // the longest name that DNS can express

[[noreturn]] void refuse_address(std::string_view text, std::string_view why) {
  throw invalid_argument_error{fmt::format(
      "the address \"{}\" {}; expected \"host:port\" such as \"10.0.0.1:2222\" or \"[::1]:2222\"", text, why)};
}

bool is_host_character(char c, bool is_ipv6) {
  const auto is_digit = c >= '0' && c <= '9';
  const auto is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (is_ipv6) return is_digit || is_letter || c == ':' || c == '.' || c == '%';  // '%' begins a zone name
  return is_digit || is_letter || c == '.' || c == '-' || c == '_';
}

std::uint16_t parse_port(std::string_view text, std::string_view address) {
  unsigned value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc::invalid_argument || end != text.data() + text.size()) {
    refuse_address(address, fmt::format("has the port \"{}\", which is no number", text));
  }
  if (failure != std::errc{} || value == 0 || value > 65535) {
    refuse_address(address, fmt::format("has the port {}, which is outside 1 to 65535", text));
  }
  return static_cast<std::uint16_t>(value);
}

}  // namespace

std::string to_string(const task_id& task) { return fmt::format("/job:{}/task:{}", task.job, task.index); }

task_address task_address::parse(std::string_view text) {
  const auto is_ipv6 = text.starts_with('[');
  std::string_view host;
  std::string_view port;
  if (is_ipv6) {
    const auto close = text.find("]:");
    if (close == std::string_view::npos) refuse_address(text, "has no \"]:\" between host and port");
    host = text.substr(1, close - 1);
    port = text.substr(close + 2);
  } else {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) refuse_address(text, "has no port");
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (text.find("://") == colon) refuse_address(text, "begins with a protocol, which does not belong there");
    if (port.find(':') != std::string_view::npos) {
      refuse_address(text, "has more than one colon (an IPv6 address is written in brackets)");
    }
  }
  if (host.empty()) refuse_address(text, "has no host");
  if (host.size() > host_length_max) refuse_address(text, "has a host name of more than 253 characters");
  for (const auto c : host) {
    if (!is_host_character(c, is_ipv6)) {
      refuse_address(text, fmt::format("has the character '{}' in its host, which no host name has", c));
    }
  }
  if (port.empty()) refuse_address(text, "has no port");
  return {std::string{host}, parse_port(port, text)};
}

std::string to_string(const task_address& address) {
  const auto is_ipv6 = address.host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", address.host, address.port)
                 : fmt::format("{}:{}", address.host, address.port);
}

}  // namespace troupe
