#include <troupe/device/base/internal/write_all.hpp>

#include <cerrno>

#include <unistd.h>

namespace troupe {

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace troupe
