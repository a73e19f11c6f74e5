// A file that exists in memory only, until its last descriptor is closed.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

namespace troupe {

/// What the kernel itself adds to the seals of such a file: it can never be made executable.
inline constexpr int memory_file_seal = 0x0020;  // F_SEAL_EXEC, which older headers lack

/// A new one, which can be sealed. It can't be executed if the kernel knows how to forbid that (Linux 6.3): hardened
/// systems (vm.memfd_noexec) seal each file that does not say whether it can, or refuse it. None, with errno set, if
/// there is no memory or no descriptor.
descriptor make_memory_file(const char* name);

}  // namespace troupe
