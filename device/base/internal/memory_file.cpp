#include <troupe/device/base/internal/memory_file.hpp>

#include <cerrno>

#include <sys/mman.h>

namespace troupe {

descriptor make_memory_file(const char* name) {
  constexpr unsigned not_executable = 0x0008;  // MFD_NOEXEC_SEAL, which older headers lack
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  descriptor made{::memfd_create(name, flags | not_executable)};
  // An older kernel refuses flags that it does not know.
  if (!made && errno == EINVAL) made = descriptor{::memfd_create(name, flags)};
  return made;
}

}  // namespace troupe
