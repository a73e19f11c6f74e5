#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

void completion::set() {
  std::vector<std::function<void()>> notifiers;
  {
    const std::scoped_lock lock{mutex_};
    if (std::exchange(set_, true)) return;
    notifiers.swap(notifiers_);
    // Under the lock: a waiter that wakes may destroy this object.
    changed_.notify_all();
  }
  for (const auto& notify : notifiers) notify();
}

bool completion::is_set() const {
  const std::scoped_lock lock{mutex_};
  return set_;
}

void completion::wait_until(time_point deadline, std::string_view what) {
  if (is_set()) return;
  if (auto* const host = fiber_host::current()) return wait_in_fiber(*host, deadline, what);
  wait_in_thread(deadline, what);
}

void completion::wait_in_fiber(fiber_host& host, time_point deadline, std::string_view what) {
  const auto point = wait_point::make();
  auto notify = make_notifier(host.clock().self(), [point] { point->complete(); });
  {
    const std::scoped_lock lock{mutex_};
    if (!set_) notifiers_.push_back(std::exchange(notify, nullptr));
  }
  if (notify) notify();
  point->wait_until(deadline, what);
}

void completion::wait_in_thread(time_point deadline, std::string_view what) {
  std::unique_lock lock{mutex_};
  if (!changed_.wait_until(lock, deadline, [this] { return set_; }))
    throw deadline_exceeded_error{fmt::format("the deadline passed while waiting for {}", what)};
}

}  // namespace troupe
