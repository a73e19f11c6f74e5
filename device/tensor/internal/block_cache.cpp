#include <troupe/device/tensor/internal/block_cache.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace troupe {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

// Below two huge pages, rounding up to whole ones would waste too much.
constexpr bool wants_huge_pages(std::size_t bytes) { return bytes >= 2 * huge_page_bytes; }

constexpr std::size_t alignment_for(std::size_t bytes) {
  return wants_huge_pages(bytes) ? huge_page_bytes : page_bytes;
}

constexpr std::size_t capacity_for(std::size_t bytes) {
  const auto alignment = alignment_for(bytes);
  return (bytes + alignment - 1) / alignment * alignment;
}

memory_block allocate_block(std::size_t bytes) {
  const auto capacity = capacity_for(bytes);
  auto* data = std::aligned_alloc(alignment_for(bytes), capacity);
  if (!data) throw std::bad_alloc{};
  // Advice only: where it is refused, the pages are just small.
  if (wants_huge_pages(bytes)) ::madvise(data, capacity, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(data), capacity};
}

}  // namespace

block_cache::block_cache() { kept_.reserve(kept_bytes_max / block_bytes_min); }

block_cache& block_cache::instance() {
  static auto* cache = new block_cache;
  return *cache;
}

memory_block block_cache::take(std::size_t bytes) {
  {
    std::lock_guard lock{mutex_};
    const auto smallest = capacity_for(bytes);
    const auto fits = [=](const memory_block& block) {
      return block.capacity >= smallest && block.capacity <= smallest + smallest / 8;
    };
    // Newest first: its memory is most likely still in the processor's cache.
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(), fits);
    if (found != kept_.rend()) {
      const auto block = *found;
      kept_.erase(std::next(found).base());
      kept_bytes_ -= block.capacity;
      return block;
    }
  }
  return allocate_block(bytes);
}

std::size_t block_cache::kept_bytes() const {
  std::lock_guard lock{mutex_};
  return kept_bytes_;
}

void block_cache::give(memory_block block) noexcept {
  if (block.capacity > kept_bytes_max) return std::free(block.data);
  // Lets the kernel take the pages when memory runs short. On huge pages the mark is free; on small ones it costs more
  // than the copy that follows.
  if (wants_huge_pages(block.capacity)) ::madvise(block.data, block.capacity, MADV_FREE);
  while (auto* oldest = keep_or_drop_oldest(block)) std::free(oldest);  // outside the lock: unmapping takes long
}

void* block_cache::keep_or_drop_oldest(memory_block block) noexcept {
  std::lock_guard lock{mutex_};
  if (kept_bytes_ + block.capacity <= kept_bytes_max) {
    kept_.push_back(block);  // never allocates: the constructor reserved room for the most that can be kept
    kept_bytes_ += block.capacity;
    return nullptr;
  }
  const auto oldest = kept_.front();
  kept_.erase(kept_.begin());
  kept_bytes_ -= oldest.capacity;
  return oldest.data;
}

}  // namespace troupe
