#include "bench_machine.hpp"
#include "bench_process.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/utsname.h>
#include <unistd.h>

namespace troupe::tools {

namespace {

constexpr auto unknown = "unknown";
constexpr auto git_patience = std::chrono::seconds{30};

/// What stands behind `key` and the separator in the first line of the file that begins with it.
std::string value_in_file(const std::string& path, const std::string& key, char separator) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    const auto end_of_key = line.find(separator);
    if (!line.starts_with(key) || end_of_key == std::string::npos) continue;
    auto value = line.substr(end_of_key + 1);
    std::erase(value, '"');
    value.erase(0, value.find_first_not_of(" \t"));
    return value;
  }
  return unknown;
}

std::string processors_text() {
  return fmt::format("{} x {}", std::max(1U, std::thread::hardware_concurrency()),
                     value_in_file("/proc/cpuinfo", "model name", ':'));
}

std::string memory_text() {
  const auto bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return fmt::format("{:.1f} GiB", bytes / (1 << 30));
}

std::string operating_system_text() {
  utsname system{};
  ::uname(&system);
  return fmt::format("{}, {} {}, {}", value_in_file("/etc/os-release", "PRETTY_NAME=", '='), system.sysname,
                     system.release, system.machine);
}

std::string compiler_text() {
#if defined(__clang__)
  return fmt::format("clang++ {}.{}.{}, {}", __clang_major__, __clang_minor__, __clang_patchlevel__, TROUPE_BUILD_TYPE);
#else
  return fmt::format("g++ {}.{}.{}, {}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__, TROUPE_BUILD_TYPE);
#endif
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe_machine() {
  return {{"processors", processors_text()},
          {"memory", memory_text()},
          {"operating system", operating_system_text()},
          {"compiler, build type", compiler_text()}};
}

std::string describe_commit() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  try {
    // Without --no-optional-locks it would write the work tree's index.
    child_process git{{.program = "git",
                       .arguments = {"--no-optional-locks", "-C", folder, "describe", "--always", "--dirty"},
                       .environment = {}}};
    return first_line(git, git_patience);
  } catch (const error&) {  // no git, or no work tree
    return unknown;
  }
}

std::string describe_date() { return fmt::format("{:%Y-%m-%d} (UTC)", fmt::gmtime(std::time(nullptr))); }

}  // namespace troupe::tools
