#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/accelerators/upload_memory.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace troupe {

buffer upload_memory::take(std::size_t bytes) {
  if (bytes == 0) return buffer::take_over(nullptr, nullptr, 0, device_);
  auto* const memory = take_unused(bytes);
  std::shared_ptr<void> owner{memory, [this, bytes](void* given) { give(given, bytes); }};
  return buffer::take_over(std::move(owner), static_cast<std::byte*>(memory), bytes, device_);
}

void* upload_memory::take_unused(std::size_t bytes) {
  if (auto kept = take_kept(caching_allocator::size_class(bytes))) return when_unused(std::move(*kept), bytes);
  const auto taken = blocks_.take(bytes);
  return taken.is_new ? taken.memory : when_unused({taken.memory, nullptr}, bytes);
}

std::optional<upload_memory::kept_block> upload_memory::take_kept(std::size_t size) {
  const std::scoped_lock lock{mutex_};
  const auto found = kept_.find(size);
  if (found == kept_.end() || found->second.empty()) return {};
  auto& blocks = found->second;
  if (blocks.size() < kept_blocks_max && !blocks.front().last_use->is_reached()) return {};
  auto oldest = std::move(blocks.front());
  blocks.pop_front();
  kept_bytes_ -= size;
  return oldest;
}

void* upload_memory::when_unused(kept_block block, std::size_t bytes) {
  try {
    if (!block.last_use) block.last_use = record_();
    if (block.last_use->wait_until(device_wait_deadline())) return block.memory;
    throw_device_is_late(device_, "queued work uses all memory for copies of this size from the host");
  } catch (...) {
    blocks_.give(block.memory, bytes);
    throw;
  }
}

void upload_memory::give(void* memory, std::size_t bytes) noexcept {
  if (!keep(memory, caching_allocator::size_class(bytes))) blocks_.give(memory, bytes);
}

bool upload_memory::keep(void* memory, std::size_t size) noexcept {
  try {
    auto last_use = record_();
    const std::scoped_lock lock{mutex_};
    auto& blocks = kept_[size];
    if (blocks.size() == kept_blocks_max) return false;
    blocks.push_back({memory, std::move(last_use)});
    kept_bytes_ += size;
    return true;
  } catch (const std::exception&) {
    return false;  // a device that fails, or no memory for the note: whoever gets it queues behind all that uses it
  }
}

void upload_memory::give_back() noexcept {
  std::map<std::size_t, std::deque<kept_block>> given;
  {
    const std::scoped_lock lock{mutex_};
    given.swap(kept_);
    kept_bytes_ = 0;
  }
  for (const auto& [size, blocks] : given)
    for (const auto& each : blocks) blocks_.give(each.memory, size);
}

memory_statistics upload_memory::statistics() const {
  const std::scoped_lock lock{mutex_};
  auto result = blocks_.statistics();
  const auto kept = std::min(kept_bytes_, result.used_bytes);
  result.used_bytes -= kept;
  result.kept_bytes += kept;
  return result;
}

}  // namespace troupe
