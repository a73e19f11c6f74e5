// What a process holds now.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace troupe::tools {

struct process_usage {
  std::int64_t resident_bytes = 0;
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
};

/// Nothing when there is no such process any more.
std::optional<process_usage> usage_of(pid_t process);

}  // namespace troupe::tools
