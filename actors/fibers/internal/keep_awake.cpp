#include <troupe/actors/fibers/internal/keep_awake.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/timers.hpp>

#include <caf/abstract_actor.hpp>

#include <atomic>
#include <thread>

namespace troupe {

namespace {

constexpr auto yield_time_max = std::chrono::microseconds{200};
constexpr auto busy_time = std::chrono::milliseconds{100};

std::atomic<std::chrono::steady_clock::time_point> busy_until{};

/// False if the machine is busy.
bool let_others_run() {
  const auto before = std::chrono::steady_clock::now();
  if (before < busy_until.load(std::memory_order_relaxed)) return false;
  std::this_thread::yield();
  const auto after = std::chrono::steady_clock::now();
  if (after - before <= yield_time_max) return true;
  busy_until.store(after + busy_time, std::memory_order_relaxed);
  return false;
}

}  // namespace

keep_awake::keep_awake(caf::scheduled_actor* self, duration limit)
    : self_(self), limit_(limit), has_thread_(self->getf(caf::abstract_actor::is_detached_flag)) {}

void keep_awake::start() {
  if (!has_thread_) return;
  until_ = clock::now() + limit_;
  if (!looking_) look_again();
}

void keep_awake::wait() const {
  if (!has_thread_) return;
  const auto until = clock::now() + limit_;
  while (self_->mailbox().empty() && clock::now() < until && let_others_run()) {
  }
}

void keep_awake::look_again() {
  looking_ = true;
  make_notifier(self_, [this] {
    looking_ = false;
    if (clock::now() < until_ && let_others_run()) look_again();
  })();
}

}  // namespace troupe
