#include <troupe/device/collectives/internal/deadline_watch.hpp>

#include <utility>

namespace troupe {

deadline_watch::deadline_watch(std::function<void()> interrupt)
    : interrupt_(std::move(interrupt)), thread_([this] { run(); }) {}

deadline_watch::~deadline_watch() {
  {
    const std::scoped_lock lock{mutex_};
    stopped_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void deadline_watch::arm(clock::time_point deadline) {
  const std::scoped_lock lock{mutex_};
  deadline_ = deadline;
  if (deadline < sleeps_until_) changed_.notify_one();
}

void deadline_watch::disarm() noexcept {
  const std::scoped_lock lock{mutex_};
  deadline_ = clock::time_point::max();
}

void deadline_watch::run() {
  std::unique_lock lock{mutex_};
  while (!stopped_) {
    if (deadline_ <= clock::now()) {
      deadline_ = clock::time_point::max();
      interrupt_();
    }
    sleeps_until_ = deadline_;
    if (deadline_ == clock::time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, deadline_);
    }
  }
}

}  // namespace troupe
