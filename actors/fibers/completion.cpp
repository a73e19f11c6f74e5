#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/simulated_surroundings.hpp>
#include <troupe/actors/fibers/timers.hpp>

#include <caf/actor_system.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <utility>

namespace troupe {

time_point current_time() {
  if (auto* const host = fiber_host::current()) return host->clock().now();
  if (auto* const system = simulated_system()) return system->clock().now();
  return std::chrono::steady_clock::now();
}

// --- interruptions --------------------------------------------------------------------------------------------------

namespace {

thread_local interruption* interruption_here = nullptr;

}  // namespace

interruption::interruption() { interruption_here = this; }
interruption::~interruption() { interruption_here = nullptr; }

/// A destructor that waits while an exception passes must come to its end.
interruption* interruption::current() { return std::uncaught_exceptions() == 0 ? interruption_here : nullptr; }

void interruption::interrupt(status why) {
  std::function<void()> wake;
  {
    const std::scoped_lock lock{mutex_};
    if (!why_.ok()) return;
    why_ = std::move(why);
    wake = std::exchange(wake_, nullptr);
  }
  if (wake) wake();
}

bool interruption::set_sleeper(std::function<void()> wake) {
  const std::scoped_lock lock{mutex_};
  wake_ = std::move(wake);
  return why_.ok();
}

void interruption::throw_if_interrupted() {
  const std::scoped_lock lock{mutex_};
  if (!why_.ok()) throw_status(why_);
}

// --- completions ----------------------------------------------------------------------------------------------------

namespace {

/// Stands among the open waits while its thread sleeps.
class blocked_thread {
 public:
  blocked_thread() = default;
  blocked_thread(const blocked_thread&) = delete;

 private:
  static open_wait tell(const void* of, time_point now) {
    const auto& which = *static_cast<const blocked_thread*>(of);
    return awaiting::tell({.who = which.thread_.describe(), .what = {}, .waiter = which.number_}, which.awaits_,
                          which.since_, now);
  }

  const awaiting* awaits_ = awaiting::of_thread();
  thread_identity thread_ = thread_identity::current();
  std::uint64_t number_ = fiber_host::current_runner().number;
  time_point since_ = std::chrono::steady_clock::now();
  listed_wait listed_{nullptr, tell, this};
};

}  // namespace

void completion::set() {
  std::vector<observer_entry> observers;
  {
    const std::scoped_lock lock{mutex_};
    if (std::exchange(set_, true)) return;
    observers.swap(observers_);
  }
  // From here on a waiter that wakes may destroy this object.
  for (const auto& observer : observers) observer.call();
}

bool completion::is_set() const {
  const std::scoped_lock lock{mutex_};
  return set_;
}

bool completion::wait_until(time_point deadline) {
  if (is_set()) return true;
  if (auto* const host = fiber_host::current()) return wait_in_fiber(*host, deadline);
  return wait_in_thread(deadline, interruption::current());
}

void completion::wait_until(time_point deadline, std::string_view what) {
  const awaiting scope{what};
  if (is_set()) return;
  const auto begin = current_time();
  if (wait_until(deadline)) return;
  missed_deadlines::report(what, current_time() - begin);
  throw deadline_exceeded_error{fmt::format("the deadline passed while waiting for {}", what)};
}

bool completion::block_for(duration limit) { return wait_in_thread(later(std::chrono::steady_clock::now(), limit)); }

void completion::on_set(std::function<void()> observer) {
  if (add(observer) == 0) observer();
}

bool completion::wait_in_fiber(fiber_host& host, time_point deadline) {
  // Unless somebody further out has said what it is.
  const awaiting scope{"a troupe::completion"};
  const auto point = wait_point::make();
  std::function<void()> notify = make_notifier(host.clock().self(), [point] { point->complete(); });
  const auto number = add(notify);
  if (number == 0) notify();
  try {
    if (point->wait_until(deadline)) return true;
  } catch (...) {
    withdraw(number);
    throw;
  }
  withdraw(number);
  return is_set();
}

bool completion::wait_in_thread(time_point deadline, interruption* around) {
  struct sleeper {
    std::mutex mutex;
    std::condition_variable woken;
    bool awake = false;
  };
  // Shared: at its deadline it goes on while `set` may be about to wake it.
  const auto here = std::make_shared<sleeper>();
  std::function<void()> wake = [here] {
    const std::scoped_lock lock{here->mutex};
    here->awake = true;
    here->woken.notify_one();
  };
  auto observer = wake;
  const auto number = add(observer);
  if (number == 0) return true;
  if (around == nullptr || around->set_sleeper(std::move(wake))) {
    const awaiting scope{"a troupe::completion"};
    const blocked_thread shown;
    std::unique_lock lock{here->mutex};
    here->woken.wait_until(lock, deadline, [&] { return here->awake; });
  }
  if (around != nullptr) around->set_sleeper(nullptr);
  withdraw(number);
  if (is_set()) return true;
  if (around != nullptr) around->throw_if_interrupted();
  return false;
}

std::uint64_t completion::add(std::function<void()>& observer) {
  const std::scoped_lock lock{mutex_};
  if (set_) return 0;
  observers_.push_back({++last_number_, std::move(observer)});
  return last_number_;
}

// A notifier has left a handler in its actor, which goes when it is called.
void completion::withdraw(std::uint64_t number) {
  std::function<void()> call;
  {
    const std::scoped_lock lock{mutex_};
    const auto found = std::find_if(observers_.begin(), observers_.end(),
                                    [number](const observer_entry& each) { return each.number == number; });
    if (found == observers_.end()) return;
    call = std::move(found->call);
    observers_.erase(found);
  }
  call();
}

}  // namespace troupe
