#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/files/mapped_file.hpp>
#include <troupe/runtime/files/system_error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

buffer map_file(const std::string& path) {
  const auto refuse = [&] { throw_system_error(errno, fmt::format("\"{}\" cannot be read", path)); };
  // O_NONBLOCK: opening a named pipe would otherwise wait for its writer.
  const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info = {};
  if (!file || ::fstat(file.get(), &info) != 0) refuse();
  if (!S_ISREG(info.st_mode)) {
    throw failed_precondition_error{
        fmt::format("\"{}\" cannot be read: it is a directory or a device, but must be a "
                    "file; check the path",
                    path)};
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return {};
  auto* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) refuse();
  std::shared_ptr<void> mapping{start, [size](void* address) { ::munmap(address, size); }};
  return buffer::adopt(std::move(mapping), start, size);
}

void forget_pages(std::span<const std::byte> part) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(part.data());
  const auto begin = (first + page - 1) / page * page;
  const auto end = (first + part.size()) / page * page;
  // Advice: where it is refused, the pages stay for a while.
  auto* const start = const_cast<std::byte*>(part.data());
  if (begin < end) ::madvise(start + (begin - first), end - begin, MADV_DONTNEED);
}

}  // namespace troupe
