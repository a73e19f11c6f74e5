#include <troupe/device/emulated/internal/emulated_stream.hpp>

#include <utility>

namespace troupe::emulation {

bool event::wait_until(time_point deadline) {
  std::unique_lock lock{mutex_};
  return reached_.wait_until(lock, deadline, [this] { return is_reached_; });
}

void event::wait() {
  std::unique_lock lock{mutex_};
  reached_.wait(lock, [this] { return is_reached_; });
}

bool event::is_reached() {
  const std::scoped_lock lock{mutex_};
  return is_reached_;
}

void event::set() {
  const std::scoped_lock lock{mutex_};
  is_reached_ = true;
  reached_.notify_all();
}

void host_memory_claim::use(const std::function<void()>& work) {
  const std::scoped_lock lock{mutex_};
  if (!is_withdrawn_) work();
}

void host_memory_claim::withdraw() {
  const std::scoped_lock lock{mutex_};
  is_withdrawn_ = true;
}

stream::~stream() {
  thread_.request_stop();  // and then it is joined
}

bool stream::enqueue(std::function<void()> work, time_point deadline) {
  std::unique_lock lock{mutex_};
  if (!changed_.wait_until(lock, deadline, [this] { return queued_.size() < queued_max; })) return false;
  add(std::move(work));
  return true;
}

void stream::enqueue_in_any_case(std::function<void()> work) {
  const std::scoped_lock lock{mutex_};
  add(std::move(work));
}

void stream::add(std::function<void()> work) {
  if (!thread_.joinable()) thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
  queued_.push_back(std::move(work));
  changed_.notify_all();
}

bool stream::synchronize(time_point deadline) {
  if (!record()->wait_until(deadline)) return false;
  throw_failure();
  return true;
}

void stream::throw_failure() {
  std::unique_lock lock{mutex_};
  if (auto failure = std::exchange(failure_, nullptr)) {
    lock.unlock();
    std::rethrow_exception(failure);
  }
}

void stream::forget_failure() {
  const std::scoped_lock lock{mutex_};
  failure_ = nullptr;
}

std::shared_ptr<event> stream::record() {
  auto point = std::make_shared<event>();
  if (is_idle())
    point->set();
  else
    enqueue_in_any_case([point] { point->set(); });
  return point;
}

void stream::wait_for(std::shared_ptr<event> point) {
  if (point->is_reached()) return;
  enqueue_in_any_case([point = std::move(point)] { point->wait(); });
}

bool stream::is_idle() {
  const std::scoped_lock lock{mutex_};
  return queued_.empty() && !works_;
}

void stream::run(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (changed_.wait(lock, stop, [this] { return !queued_.empty(); })) {
    auto work = std::move(queued_.front());
    queued_.pop_front();
    works_ = true;
    changed_.notify_all();
    lock.unlock();
    const auto failure = perform(std::move(work));
    lock.lock();
    works_ = false;
    if (failure && !failure_) failure_ = failure;
  }
}

std::exception_ptr stream::perform(std::function<void()> work) {
  try {
    delay();
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void stream::delay() {
  if (delay_max_.count() == 0) return;
  std::uniform_int_distribution<std::chrono::microseconds::rep> upto{0, delay_max_.count()};
  std::this_thread::sleep_for(std::chrono::microseconds{upto(random_)});
}

}  // namespace troupe::emulation
