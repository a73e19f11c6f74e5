#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/open_waits.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Waiters that come and go at the same time rarely meet.
struct alignas(64) table_part {
  std::mutex mutex;
  listed_wait* first = nullptr;
};

std::array<table_part, 16>& table() {
  static std::array<table_part, 16> parts;
  return parts;
}

std::size_t next_part() {
  static std::atomic<std::size_t> last{0};
  thread_local const auto mine = last.fetch_add(1, std::memory_order_relaxed) % table().size();
  return mine;
}

}  // namespace

thread_identity thread_identity::current() {
  thread_local const thread_identity mine{static_cast<std::uintptr_t>(::pthread_self()), ::gettid()};
  return mine;
}

std::string thread_identity::describe() const {
  std::array<char, 16> name{};
  ::pthread_getname_np(static_cast<pthread_t>(handle), name.data(), name.size());
  return fmt::format("thread {} ({})", number, name.data());
}

listed_wait::listed_wait(const caf::actor_system* system, teller tells, const void* of)
    : system_(system), tells_(tells), of_(of), part_(next_part()) {
  auto& part = table()[part_];
  const std::scoped_lock lock{part.mutex};
  after_ = part.first;
  if (after_ != nullptr) after_->before_ = this;
  part.first = this;
}

listed_wait::~listed_wait() {
  auto& part = table()[part_];
  const std::scoped_lock lock{part.mutex};
  (before_ != nullptr ? before_->after_ : part.first) = after_;
  if (after_ != nullptr) after_->before_ = before_;
}

std::vector<open_wait> open_waits(const caf::actor_system* system, time_point now) {
  std::vector<open_wait> result;
  for (auto& part : table()) {
    const std::scoped_lock lock{part.mutex};
    for (const auto* each = part.first; each != nullptr; each = each->after_)
      if (system == nullptr || each->system_ == system) result.push_back(each->tells_(each->of_, now));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const open_wait& a, const open_wait& b) { return a.time_ns > b.time_ns; });
  return result;
}

// --- deadlines that were missed -------------------------------------------------------------------------------------

namespace {

std::mutex observer_mutex;
std::shared_ptr<missed_deadlines::observer> observed_by;
/// No lock where nobody observes.
std::atomic<bool> is_observed{false};
time_point next_report{};

void observe(std::shared_ptr<missed_deadlines::observer> who) {
  const std::scoped_lock lock{observer_mutex};
  is_observed = who != nullptr;
  observed_by = std::move(who);
  next_report = {};
}

}  // namespace

missed_deadlines::missed_deadlines(observer hears) { observe(std::make_shared<observer>(std::move(hears))); }
missed_deadlines::~missed_deadlines() { observe(nullptr); }

void missed_deadlines::report(std::string_view what, duration waited) {
  if (waited < least || !is_observed.load(std::memory_order_relaxed)) return;
  std::shared_ptr<observer> hears;
  {
    const std::scoped_lock lock{observer_mutex};
    const auto now = std::chrono::steady_clock::now();
    if (!observed_by || now < next_report) return;
    next_report = now + interval;
    hears = observed_by;
  }
  auto missed = fiber_host::describe_waiter();
  missed.what = what;
  missed.time_ns = waited.count();
  (*hears)(missed);
}

}  // namespace troupe
