#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/internal/caching_allocator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe {

namespace {

constexpr std::size_t class_bytes_min = 512;
// Larger blocks are rounded up by less than an eighth: of a device's memory, that would be too much.
constexpr std::size_t rounding_bytes_max = std::size_t{16} << 20;

}  // namespace

std::size_t caching_allocator::size_class(std::size_t bytes) {
  const auto unit = std::clamp(std::bit_floor(bytes) / 8, class_bytes_min, rounding_bytes_max);
  return (bytes + unit - 1) / unit * unit;
}

caching_allocator::taken_block caching_allocator::take(std::size_t bytes) {
  const auto size = size_class(bytes);
  if (auto* block = take_kept(size)) return {block, false};
  if (auto* block = take_new(size)) return {block, true};
  if (source_.reclaim) source_.reclaim();
  release_kept();
  if (auto* block = take_new(size)) return {block, true};
  throw_exhausted(bytes);
}

void* caching_allocator::take_kept(std::size_t size) {
  std::lock_guard lock{mutex_};
  const auto found = kept_.find(size);
  if (found == kept_.end() || found->second.empty()) return nullptr;
  auto* block = found->second.back();  // the newest: the most likely to be in a cache
  found->second.pop_back();
  ++statistics_.reuse_count;
  statistics_.kept_bytes -= size;
  statistics_.used_bytes += size;
  statistics_.used_bytes_max = std::max(statistics_.used_bytes_max, statistics_.used_bytes);
  return block;
}

// The bytes are counted before the source is asked, which happens outside the lock because it takes long: so threads
// that ask at the same time do not exceed the limit together.
void* caching_allocator::take_new(std::size_t size) {
  {
    std::lock_guard lock{mutex_};
    const auto held = statistics_.used_bytes + statistics_.kept_bytes;
    if (held > limit_bytes_ || size > limit_bytes_ - held) return nullptr;
    statistics_.used_bytes += size;
  }
  const auto withdraw = [&] {
    std::lock_guard lock{mutex_};
    statistics_.used_bytes -= size;
  };
  void* block = nullptr;
  try {
    block = source_.allocate(size);
  } catch (...) {
    withdraw();
    throw;
  }
  if (!block) {
    withdraw();
    return nullptr;
  }
  std::lock_guard lock{mutex_};
  ++statistics_.allocation_count;
  statistics_.used_bytes_max = std::max(statistics_.used_bytes_max, statistics_.used_bytes);
  return block;
}

void caching_allocator::give(void* block, std::size_t bytes) noexcept {
  if (!keep(block, size_class(bytes))) source_.release(block);
}

bool caching_allocator::keep(void* block, std::size_t size) noexcept {
  std::lock_guard lock{mutex_};
  statistics_.used_bytes -= size;
  if (size > kept_bytes_max_ || statistics_.kept_bytes > kept_bytes_max_ - size) return false;
  try {
    kept_[size].push_back(block);
  } catch (const std::bad_alloc&) {
    return false;  // no host memory for the note that it is kept
  }
  statistics_.kept_bytes += size;
  return true;
}

void caching_allocator::release_kept() noexcept {
  std::map<std::size_t, std::vector<void*>> released;
  {
    std::lock_guard lock{mutex_};
    released.swap(kept_);
    statistics_.kept_bytes = 0;
  }
  for (const auto& [size, blocks] : released) std::ranges::for_each(blocks, source_.release);
}

void caching_allocator::set_limit(std::size_t bytes) {
  std::lock_guard lock{mutex_};
  limit_bytes_ = bytes;
}

void caching_allocator::keep_at_most(std::size_t bytes) {
  {
    std::lock_guard lock{mutex_};
    kept_bytes_max_ = bytes;
    if (statistics_.kept_bytes <= bytes) return;
  }
  release_kept();
}

memory_statistics caching_allocator::statistics() const {
  std::lock_guard lock{mutex_};
  return statistics_;
}

void caching_allocator::throw_exhausted(std::size_t bytes) const {
  std::lock_guard lock{mutex_};
  const auto limit = limit_bytes_ == no_limit ? "no limit is set" : fmt::format("the limit is {} bytes", limit_bytes_);
  throw resource_exhausted_error{
      fmt::format("cannot allocate {} bytes on {}: {} bytes are in use there by this process and {}; drop tensors, use "
                  "smaller ones, "
                  "or more devices",
                  bytes, name_, statistics_.used_bytes, limit)};
}

}  // namespace troupe
