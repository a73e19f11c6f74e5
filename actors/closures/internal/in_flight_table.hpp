// The closures that workers hold: a slot map, so that an outcome finds its closure in O(1) and an outcome that comes
// too late (its slot was used again) finds nothing.
//
// The slots of each worker are linked in the order of sending. So the loss of a worker costs what that worker holds and
// not what all hold, and its closures go back in the order in which they left. What a lost worker held is `adrift`
// until it goes back.
#pragma once

#include <troupe/actors/closures/closure.hpp>

#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

class in_flight_table {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// In place of a worker's index: of one that is lost.
  static constexpr int adrift = -1;

  struct entry {
    std::shared_ptr<closure> what;
    int worker = adrift;
    std::uint32_t generation = 0;
    /// Its order's (messages.hpp).
    std::uint64_t number = 0;
    /// The neighbours in its worker's list: the table's own.
    std::uint32_t earlier_ = none;
    std::uint32_t later_ = none;
  };

  /// The id is the slot's number and how often it was used. `worker` is not negative.
  closure_id add(std::shared_ptr<closure> what, int worker, std::uint64_t number = 0) {
    assert(worker >= 0);
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const auto index = free_.back();
    free_.pop_back();
    auto& slot = slots_[index];
    slot.what = std::move(what);
    slot.worker = worker;
    slot.number = number;
    link(index);
    ++count_;
    return std::uint64_t{++slot.generation} << 32 | index;
  }

  const entry* find(closure_id id) const {
    const auto index = id & 0xffffffffu;
    if (index >= slots_.size()) return nullptr;
    const auto& slot = slots_[index];
    return slot.what && slot.generation == id >> 32 ? &slot : nullptr;
  }

  /// Of an id that `find` finds.
  std::shared_ptr<closure> remove(closure_id id) {
    const auto index = static_cast<std::uint32_t>(id & 0xffffffffu);
    auto removed = std::move(slots_[index].what);
    slots_[index].what.reset();
    unlink(index);
    free_.push_back(index);
    --count_;
    return removed;
  }

  /// The ids of all closures that this worker holds, in the order of `add`.
  std::vector<closure_id> held_by(int worker) const {
    std::vector<closure_id> held;
    if (place_of(worker) >= lists_.size()) return held;
    const auto& own = lists_[place_of(worker)];
    held.reserve(own.count);
    for (auto i = own.first; i != none; i = slots_[i].later_)
      held.push_back(std::uint64_t{slots_[i].generation} << 32 | i);
    return held;
  }

  /// Whether this worker holds one of the orders that are numbered so: above `after`, and not above `last`.
  bool holds(int worker, std::uint64_t after, std::uint64_t last) const {
    if (place_of(worker) >= lists_.size()) return false;
    for (auto i = lists_[place_of(worker)].first; i != none; i = slots_[i].later_)
      if (slots_[i].number > after) return slots_[i].number <= last;
    return false;
  }

  /// The worker is lost: what it holds is adrift from now on. Returns that, in the order of `add`.
  std::vector<closure_id> set_adrift(int worker) {
    auto held = held_by(worker);
    for (const auto id : held) {
      const auto index = static_cast<std::uint32_t>(id & 0xffffffffu);
      unlink(index);
      slots_[index].worker = adrift;
      link(index);
    }
    return held;
  }

  std::size_t count() const { return count_; }

 private:
  struct list {
    std::uint32_t first = none;
    std::uint32_t last = none;
    std::uint32_t count = 0;
  };

  static std::size_t place_of(int worker) { return static_cast<std::size_t>(std::int64_t{worker} + 1); }

  void link(std::uint32_t index) {
    const auto place = place_of(slots_[index].worker);
    if (place >= lists_.size()) lists_.resize(place + 1);
    auto& own = lists_[place];
    slots_[index].earlier_ = own.last;
    slots_[index].later_ = none;
    (own.last == none ? own.first : slots_[own.last].later_) = index;
    own.last = index;
    ++own.count;
  }

  void unlink(std::uint32_t index) {
    const auto& slot = slots_[index];
    auto& own = lists_[place_of(slot.worker)];
    (slot.earlier_ == none ? own.first : slots_[slot.earlier_].later_) = slot.later_;
    (slot.later_ == none ? own.last : slots_[slot.later_].earlier_) = slot.earlier_;
    --own.count;
  }

  std::vector<entry> slots_;
  std::vector<std::uint32_t> free_;
  /// First what is adrift, then each worker's.
  std::vector<list> lists_;
  std::size_t count_ = 0;
};

}  // namespace troupe
