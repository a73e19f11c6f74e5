#include "bench_process_memory.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <fstream>
#include <string>

#include <malloc.h>

namespace troupe::tools {

namespace {

/// From a line such as "Rss:   123 kB". @throws not_found_error
std::int64_t bytes_of_line(const std::string& path, const std::string& name) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::stoll(line.substr(name.size())) * 1024;
  throw not_found_error{
      fmt::format("{} does not say how much memory the process uses: it has ended, or /proc is not there", path)};
}

}  // namespace

std::int64_t resident_bytes(pid_t process) {
  // Exact, unlike statm, whose counters lag behind.
  return bytes_of_line(
      process == 0 ? std::string{"/proc/self/smaps_rollup"} : fmt::format("/proc/{}/smaps_rollup", process), "Rss:");
}

std::int64_t peak_resident_bytes() { return bytes_of_line("/proc/self/status", "VmHWM:"); }

void reset_peak_resident_bytes() { std::ofstream{"/proc/self/clear_refs"} << "5"; }

std::int64_t allocated_bytes() {
  const auto all = ::mallinfo2();
  return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
}

}  // namespace troupe::tools
