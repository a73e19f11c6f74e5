#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/mutex.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

namespace troupe {

namespace {

/// In the word that says who holds the mutex; numbers of runners are even.
constexpr std::uint64_t awaited_bit = 1;

/// On the stack of who waits.
struct place {
  runner who;
  completion ended;
  bool has_lock = false;
};

}  // namespace

struct mutex::state {
  class awaiting_mutex;

  explicit state(duration at_most) : limit(at_most) {}

  bool take(const runner& who) {
    std::uint64_t nobody = 0;
    if (!holder.compare_exchange_strong(nobody, who.number, std::memory_order_acquire, std::memory_order_relaxed))
      return false;
    function.store(who.function, std::memory_order_relaxed);
    return true;
  }

  void wait(const runner& who);
  bool enter(place& mine, time_point now);
  void leave(place& mine);
  void hand_over();
  std::string describe_holder(time_point now) const;

  const duration limit;
  /// The number of who holds it, with `awaited_bit` while somebody may wait; 0: nobody does.
  std::atomic<std::uint64_t> holder{0};
  /// The holder's, for errors. Null: unknown.
  std::atomic<const char*> function{nullptr};

  std::mutex guard;
  std::deque<place*> line;
  /// Since when the present holder has it at least: the first that waits for it sees it hold.
  time_point held_since{};
  bool destroyed = false;
};

/// What a fiber that waits tells who asks.
class mutex::state::awaiting_mutex final : public awaiting {
 public:
  explicit awaiting_mutex(state& which) : awaiting("a troupe::mutex"), which_(which) {}

 private:
  std::string describe(time_point now) const override {
    // Who holds the guard may come to a place where whoever asks has stopped all waits from beginning.
    const std::unique_lock lock{which_.guard, std::try_to_lock};
    if (!lock) return "a troupe::mutex";
    return fmt::format("a troupe::mutex, {}", which_.describe_holder(now));
  }
  wait_subject subject() const override {
    return {.holder = which_.holder.load(std::memory_order_relaxed) & ~awaited_bit};
  }
  state& which_;
};

mutex::mutex(duration limit) : state_(std::make_shared<state>(limit)) {}

mutex::~mutex() {
  const std::scoped_lock lock{state_->guard};
  state_->destroyed = true;
  for (auto* const waiting : std::exchange(state_->line, {})) waiting->ended.set();
}

void mutex::lock() {
  const auto who = fiber_host::current_runner();
  if (state_->take(who)) return;
  const auto kept = state_;
  kept->wait(who);
}

bool mutex::try_lock() { return state_->take(fiber_host::current_runner()); }

void mutex::unlock() {
  const auto who = fiber_host::current_runner();
  auto& here = *state_;
  auto held_by = here.holder.load(std::memory_order_relaxed);
  if ((held_by & ~awaited_bit) != who.number)
    throw failed_precondition_error{fmt::format(
        "a troupe::mutex was unlocked by a {} that does not hold it: the one that locked it unlocks it, so a lock must "
        "not be given to another thread or fiber",
        fiber_host::current() != nullptr ? "fiber" : "thread")};
  here.function.store(nullptr, std::memory_order_relaxed);
  held_by = who.number;
  // After this another one may lock it, unlock it and destroy it.
  if (here.holder.compare_exchange_strong(held_by, 0, std::memory_order_release, std::memory_order_relaxed)) return;
  const auto kept = state_;
  const std::scoped_lock lock{kept->guard};
  kept->hand_over();
}

// --- waiting --------------------------------------------------------------------------------------------------------

void mutex::state::wait(const runner& who) {
  place mine{.who = who, .ended = {}};
  const auto begin = current_time();
  if (enter(mine, begin)) return;
  try {
    const awaiting_mutex scope{*this};
    mine.ended.wait_until(later(begin, limit));
  } catch (...) {
    leave(mine);
    throw;
  }
  const std::scoped_lock lock{guard};
  if (mine.has_lock) return;
  if (destroyed) throw failed_precondition_error{"a troupe::mutex was destroyed while it was waited for"};
  std::erase(line, &mine);
  missed_deadlines::report("a troupe::mutex", limit);
  throw deadline_exceeded_error{fmt::format("a troupe::mutex was not free within {} ms, its limit: it is {}",
                                            in_milliseconds(limit), describe_holder(current_time()))};
}

/// True: the mutex has become free, and the place is not needed.
bool mutex::state::enter(place& mine, time_point now) {
  const std::scoped_lock lock{guard};
  for (auto seen = holder.load(std::memory_order_relaxed);;) {
    if ((seen & ~awaited_bit) == mine.who.number)
      throw failed_precondition_error{
          "a troupe::mutex was locked by who holds it already: it is not recursive, so unlock it first, or pass on "
          "that it is locked"};
    if (seen == 0) {
      if (take(mine.who)) return true;
      seen = holder.load(std::memory_order_relaxed);
    } else if (holder.compare_exchange_weak(seen, seen | awaited_bit, std::memory_order_relaxed)) {
      if ((seen & awaited_bit) == 0) held_since = now;
      line.push_back(&mine);
      return false;
    }
  }
}

/// The wait has ended early; the lock may have come all the same.
void mutex::state::leave(place& mine) {
  const std::scoped_lock lock{guard};
  if (mine.has_lock)
    hand_over();
  else
    std::erase(line, &mine);
}

/// By who holds it, under the guard.
void mutex::state::hand_over() {
  if (line.empty()) {
    function.store(nullptr, std::memory_order_relaxed);
    return holder.store(0, std::memory_order_release);
  }
  auto& next = *line.front();
  line.pop_front();
  held_since = current_time();
  function.store(next.who.function, std::memory_order_relaxed);
  holder.store(next.who.number | (line.empty() ? 0 : awaited_bit), std::memory_order_release);
  next.has_lock = true;
  next.ended.set();
}

/// Under the guard.
std::string mutex::state::describe_holder(time_point now) const {
  const auto* const name = function.load(std::memory_order_relaxed);
  return fmt::format("held by {} for at least {} ms", name != nullptr ? name : "a thread, or a fiber without a name",
                     in_milliseconds(now - held_since));
}

}  // namespace troupe
