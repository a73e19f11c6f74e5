#include <troupe/actors/keep_awake.hpp>
#include <troupe/actors/timers.hpp>

#include <caf/abstract_actor.hpp>

#include <atomic>
#include <thread>

namespace troupe {

namespace {

// About as long as sleeping and waking take.
constexpr auto awake_time = std::chrono::microseconds{50};
constexpr auto yield_time_max = std::chrono::microseconds{200};
constexpr auto busy_time = std::chrono::milliseconds{100};

std::atomic<std::chrono::steady_clock::time_point> busy_until{};

}  // namespace

keep_awake::keep_awake(caf::scheduled_actor* self)
    : self_(self), has_thread_(self->getf(caf::abstract_actor::is_detached_flag)) {}

void keep_awake::start() {
  if (!has_thread_) return;
  const auto now = clock::now();
  if (now < busy_until.load(std::memory_order_relaxed)) return;
  until_ = now + awake_time;
  if (!looking_) look_again();
}

void keep_awake::look_again() {
  looking_ = true;
  make_notifier(self_, [this] {
    looking_ = false;
    const auto before = clock::now();
    if (before >= until_) return;
    std::this_thread::yield();
    const auto after = clock::now();
    if (after - before > yield_time_max)
      busy_until.store(after + busy_time, std::memory_order_relaxed);
    else
      look_again();
  })();
}

}  // namespace troupe
