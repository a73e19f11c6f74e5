#include <troupe/actors/messages/peer_identity.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/printable_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <mutex>

#include <sys/random.h>
#include <unistd.h>

namespace troupe {

namespace {

process_id random_process_id() {
  process_id made;
  while (!made) {
    // The kernel gives so few bytes at once, or none.
    const auto count = ::getrandom(made.bytes.data(), made.bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(made.bytes.size()))
      throw unavailable_error{
          fmt::format("the system gives no random numbers for the identity of this process: {}", std::strerror(errno))};
  }
  return made;
}

}  // namespace

process_id process_id::of_this_process() {
  static std::mutex mutex;
  static process_id made;
  static ::pid_t made_by = 0;
  const std::scoped_lock lock{mutex};
  if (made_by != ::getpid()) {
    made = random_process_id();
    made_by = ::getpid();
  }
  return made;
}

std::string to_string(const process_id& process) {
  std::string text;
  for (const auto each : process.bytes) text += fmt::format("{:02x}", each);
  return text;
}

// The host part of CAF's id has 20 bytes: the last 4 stay zero.
caf::node_id process_system::node() const {
  caf::node_id::default_data::host_id_type host{};
  std::ranges::copy(process.bytes, host.begin());
  return caf::make_node_id(number, host);
}

process_system process_system::of(const caf::node_id& node) {
  const auto* const data = dynamic_cast<const caf::node_id::default_data*>(node.operator->());
  if (data == nullptr) return {};
  const auto host = data->host_id();
  process_system found;
  found.number = data->process_id();
  const auto rest = host.begin() + found.process.bytes.size();
  if (std::any_of(rest, host.end(), [](std::uint8_t each) { return each != 0; })) return {};
  std::copy(host.begin(), rest, found.process.bytes.begin());
  return found;
}

bool is_plain_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '-' || each == '_' || each == '.';
  });
}

std::string to_string(const peer_identity& peer) {
  const auto who = peer.is_member() ? to_string(peer.task) : std::string{"a process that is no member"};
  constexpr std::size_t bytes_max = 256;
  return printable_text(peer.cluster.empty() ? who : fmt::format("{} of \"{}\"", who, peer.cluster), bytes_max);
}

}  // namespace troupe
