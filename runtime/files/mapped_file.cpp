#include <troupe/runtime/files/file_system.hpp>
#include <troupe/runtime/files/mapped_file.hpp>
#include <troupe/runtime/files/system_error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

buffer map_file(const std::string& path) {
  const auto refuse = [&] { throw_system_error(errno, fmt::format("\"{}\" cannot be read", path)); };
  const auto file = file_system::current().open_descriptor(path);
  if (!file) refuse();
  const auto size = static_cast<std::size_t>(size_of_regular_file(file, path));
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
