#include "bench_process_memory.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <fstream>
#include <string>

#include <malloc.h>

namespace troupe::tools {

std::int64_t resident_bytes(pid_t process) {
  // Exact, unlike statm, whose counters lag behind.
  const auto path =
      process == 0 ? std::string{"/proc/self/smaps_rollup"} : fmt::format("/proc/{}/smaps_rollup", process);
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Rss:")) return std::stoll(line.substr(4)) * 1024;
  throw not_found_error{
      fmt::format("{} does not say how much memory the process uses: it has ended, or /proc is not there", path)};
}

std::int64_t allocated_bytes() {
  const auto all = ::mallinfo2();
  return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
}

}  // namespace troupe::tools
