// The tasks of a cluster and their network addresses, in the words of TF_CONFIG.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// One task of a cluster: "chief", "worker", "ps" or another role, and its index within that job.
struct task_id {
  std::string job;
  int index = 0;
  auto operator<=>(const task_id&) const = default;
};

/// "/job:worker/task:1".
std::string to_string(const task_id& task);

/// Where a task listens: a host name or an IP address, and a TCP port.
struct task_address {
  std::string host;
  std::uint16_t port = 0;
  auto operator<=>(const task_address&) const = default;

  /// Reads "host:port" or "[IPv6]:port".
  /// @throws invalid_argument_error that says what was found and what was expected.
  static task_address parse(std::string_view text);
};

/// "host:port", with brackets around an IPv6 address.
std::string to_string(const task_address& address);

}  // namespace troupe
