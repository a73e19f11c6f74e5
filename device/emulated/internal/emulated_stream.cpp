#include <troupe/device/emulated/internal/emulated_stream.hpp>

#include <utility>

namespace troupe::emulation {

void event::wait() {
  std::unique_lock lock{mutex_};
  reached_.wait(lock, [this] { return is_reached_; });
}

void event::set() {
  const std::scoped_lock lock{mutex_};
  is_reached_ = true;
  reached_.notify_all();
}

stream::~stream() {
  thread_.request_stop();  // and then it is joined
}

void stream::enqueue(std::function<void()> work) {
  std::unique_lock lock{mutex_};
  if (!thread_.joinable()) thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
  changed_.wait(lock, [this] { return queued_.size() < queued_max; });
  queued_.push_back(std::move(work));
  changed_.notify_all();
}

void stream::synchronize() {
  record()->wait();
  std::unique_lock lock{mutex_};
  if (auto failure = std::exchange(failure_, nullptr)) {
    lock.unlock();
    std::rethrow_exception(failure);
  }
}

std::shared_ptr<event> stream::record() {
  auto point = std::make_shared<event>();
  enqueue([point] { point->set(); });
  return point;
}

void stream::wait_for(std::shared_ptr<event> point) {
  enqueue([point = std::move(point)] { point->wait(); });
}

void stream::run(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (changed_.wait(lock, stop, [this] { return !queued_.empty(); })) {
    const auto work = std::move(queued_.front());
    queued_.pop_front();
    changed_.notify_all();
    lock.unlock();
    std::exception_ptr failure;
    try {
      delay();
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
  }
}

void stream::delay() {
  if (delay_max_.count() == 0) return;
  std::uniform_int_distribution<std::chrono::microseconds::rep> upto{0, delay_max_.count()};
  std::this_thread::sleep_for(std::chrono::microseconds{upto(random_)});
}

}  // namespace troupe::emulation
