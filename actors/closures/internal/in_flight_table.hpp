// The closures that workers hold: a slot map, so that an outcome finds its closure in O(1) and an outcome that comes
// too late (its slot was used again) finds nothing.
#pragma once

#include <troupe/actors/closures/closure.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

class in_flight_table {
 public:
  struct entry {
    std::shared_ptr<closure> what;
    int worker = -1;
    std::uint32_t generation = 0;
  };

  /// The id is the slot's number and how often it was used.
  closure_id add(std::shared_ptr<closure> what, int worker) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const auto index = free_.back();
    free_.pop_back();
    auto& slot = slots_[index];
    slot.what = std::move(what);
    slot.worker = worker;
    ++count_;
    return std::uint64_t{++slot.generation} << 32 | index;
  }

  const entry* find(closure_id id) const {
    const auto index = id & 0xffffffffu;
    if (index >= slots_.size()) return nullptr;
    const auto& slot = slots_[index];
    return slot.what && slot.generation == id >> 32 ? &slot : nullptr;
  }

  std::shared_ptr<closure> remove(closure_id id) {
    const auto index = static_cast<std::uint32_t>(id & 0xffffffffu);
    auto removed = std::move(slots_[index].what);
    slots_[index].what.reset();
    free_.push_back(index);
    --count_;
    return removed;
  }

  /// The ids of all closures that this worker holds, oldest slot first; O(all in flight), for the loss of a worker.
  std::vector<closure_id> held_by(int worker) const {
    std::vector<closure_id> held;
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].what && slots_[i].worker == worker) held.push_back(std::uint64_t{slots_[i].generation} << 32 | i);
    return held;
  }

  std::size_t count() const { return count_; }

 private:
  std::vector<entry> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t count_ = 0;
};

}  // namespace troupe
