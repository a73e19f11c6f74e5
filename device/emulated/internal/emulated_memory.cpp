#include <troupe/device/base/error.hpp>
#include <troupe/device/emulated/internal/emulated_memory.hpp>

#include <fmt/format.h>

#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe::emulation {

namespace {

/// Of fresh memory. As floats these bytes are NaN.
constexpr auto indeterminate = 0xff;

std::size_t whole_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

void* device_memory::allocate(std::size_t bytes) {
  const auto size = whole_pages(bytes);
  auto* const block = ::mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  auto* const reached = static_cast<std::byte*>(block) + size;
  if (::mprotect(reached, size, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(block, 2 * size);
    return nullptr;
  }
  std::memset(reached, indeterminate, size);
  const std::scoped_lock lock{mutex_};
  blocks_.emplace(static_cast<const std::byte*>(block), size);
  return block;
}

void device_memory::release(void* block) noexcept {
  const std::scoped_lock lock{mutex_};
  const auto found = blocks_.find(static_cast<const std::byte*>(block));
  ::munmap(block, 2 * found->second);
  blocks_.erase(found);
}

std::byte* device_memory::reach(const std::byte* address, std::size_t bytes) const {
  if (bytes == 0) return nullptr;
  const std::scoped_lock lock{mutex_};
  if (auto next = blocks_.upper_bound(address); next != blocks_.begin()) {
    const auto& [begin, size] = *std::prev(next);
    const auto offset = static_cast<std::size_t>(address - begin);
    if (offset < size && bytes <= size - offset) return const_cast<std::byte*>(address) + size;
  }
  throw invalid_argument_error{
      fmt::format("{} bytes at {} are not of this device's memory", bytes, static_cast<const void*>(address))};
}

}  // namespace troupe::emulation
