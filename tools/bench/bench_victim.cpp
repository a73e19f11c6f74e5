#include "bench_victim.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <vector>

#include <unistd.h>

namespace troupe::tools {

namespace {

/// Before main: what precedes it is the system's work.
const auto own_code_began_ns = machine_time_ns();

}  // namespace

std::int64_t machine_time_ns() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

victim_process running_victim(cluster_coordinator& coordinator) {
  constexpr auto limit = std::chrono::seconds{30};
  const auto asked = coordinator.schedule({.limit = limit, .worker = victim}, [] {
    return std::vector<std::int64_t>{::getpid(), own_code_began_ns, machine_time_ns()};
  });
  const auto& answer = asked.get();
  return {static_cast<pid_t>(answer[0]), answer[1], answer[2]};
}

std::int64_t send_signal(const victim_process& whom, int number) {
  const auto now = machine_time_ns();
  if (::kill(whom.pid, number) != 0)
    throw failed_precondition_error{fmt::format("/job:worker/task:{}, process {}, can't be sent the signal {}: {}",
                                                victim, whom.pid, number, std::strerror(errno))};
  return now;
}

}  // namespace troupe::tools
