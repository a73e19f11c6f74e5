#include "process_usage.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace troupe::tools {

namespace {

std::int64_t entries(const std::string& folder) {
  // The process may end meanwhile.
  std::error_code gone;
  std::int64_t count = 0;
  for (std::filesystem::directory_iterator entry{folder, gone}, end; !gone && entry != end; entry.increment(gone))
    ++count;
  return gone ? 0 : count;
}

}  // namespace

std::optional<process_usage> usage_of(pid_t process) {
  const auto folder = fmt::format("/proc/{}/", process);
  process_usage usage{.descriptors = entries(folder + "fd"), .threads = entries(folder + "task")};
  std::ifstream status{folder + "status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) usage.resident_bytes = std::stoll(line.substr(6)) * 1024;
  if (usage.resident_bytes == 0 || usage.threads == 0) return std::nullopt;
  return usage;
}

}  // namespace troupe::tools
