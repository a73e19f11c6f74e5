#include <troupe/actors/closures/closure.hpp>
#include <troupe/device/collectives/internal/spin_wait.hpp>

#include <array>
#include <condition_variable>
#include <utility>

namespace troupe {

namespace {

// Closures are many and waits are few: waiters share a few locks instead of paying for one in each closure.
struct waiting_room {
  std::mutex mutex;
  std::condition_variable ended;
};

waiting_room& room_of(const closure* which) {
  static std::array<waiting_room, 64> rooms;
  return rooms[(reinterpret_cast<std::uintptr_t>(which) >> 7) % rooms.size()];
}

// A result is often only microseconds away, and waking a thread costs as much.
spin_wait for_results;

}  // namespace

closure::readiness closure::state() const {
  if (!ended()) return readiness::not_ready;
  return end_status_.code() == status_code::cancelled ? readiness::aborted : readiness::ready;
}

bool closure::wait_for(duration limit) const {
  const auto start = std::chrono::steady_clock::now();
  if (for_results.until(later(start, limit), [this] { return ended(); })) return true;
  auto& room = room_of(this);
  std::unique_lock lock{room.mutex};
  awaited_.store(true, std::memory_order_seq_cst);
  // The same order as in `on_end`, against the same missed end.
  return room.ended.wait_until(lock, later(start, limit), [this] { return ended_.load(std::memory_order_seq_cst); });
}

void closure::on_end(std::function<void()> observer) {
  {
    const std::scoped_lock lock{room_of(this).mutex};
    // `finish` stores ended and then looks at awaited; here it is the other way round, so one of the two sees the
    // other.
    awaited_.store(true, std::memory_order_seq_cst);
    if (!ended_.load(std::memory_order_seq_cst)) {
      observers_.push_back(std::move(observer));
      return;
    }
  }
  observer();
}

bool closure::finish(status ended, value result) {
  if (ended_.load(std::memory_order_relaxed)) return false;
  end_status_ = std::move(ended);
  result_ = std::move(result);
  arguments = {};
  inputs.clear();
  at = stage::ended;
  ended_.store(true, std::memory_order_seq_cst);
  if (!awaited_.load(std::memory_order_seq_cst)) return true;
  std::vector<std::function<void()>> observers;
  auto& room = room_of(this);
  {
    const std::scoped_lock lock{room.mutex};
    observers.swap(observers_);
  }
  room.ended.notify_all();
  for (const auto& observer : observers) observer();
  return true;
}

}  // namespace troupe
