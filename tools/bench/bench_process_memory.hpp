// How much memory this process, or another one, uses.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace troupe::tools {

/// Physical memory that is mapped into a process, shared libraries included; 0: this process.
/// @throws not_found_error when there is no such process.
std::int64_t resident_bytes(pid_t process = 0);

/// The most that was mapped at a time since `reset_peak_resident_bytes`, or since the process began.
std::int64_t peak_resident_bytes();
void reset_peak_resident_bytes();

/// What this process has allocated and not freed, in all arenas.
std::int64_t allocated_bytes();

}  // namespace troupe::tools
