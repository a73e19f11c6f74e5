#include <troupe/actors/closures/internal/submission_queue.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

bool submission_queue::push(std::shared_ptr<closure> scheduled) {
  auto tried = try_push(scheduled);
  if (!tried.full) return tried.wakes;
  const auto limit = scheduled->options.queue_limit;
  const auto deadline = later(current_time(), limit);
  do {
    const auto in_time = tried.full->wait_until(deadline);
    tried = try_push(scheduled);
    if (!in_time && tried.full) throw_status(had_no_room(limit));
  } while (tried.full);
  return tried.wakes;
}

submission_queue::attempt submission_queue::try_push(std::shared_ptr<closure>& scheduled) {
  const auto is_for_any = scheduled->is_for_any_worker_at_once();
  const std::scoped_lock lock{mutex_};
  if (auto change = full()) return {.full = std::move(change)};
  if (!closed_.ok()) throw_status(closed_);
  ++unfinished_;
  if (is_for_any) ++pushed_for_any_;
  pushed_.push_back(std::move(scheduled));
  return {.wakes = pushed_.size() == 1};
}

std::shared_ptr<completion> submission_queue::full() {
  if (unfinished_ < capacity_ || !closed_.ok()) return nullptr;
  if (!change_) change_ = std::make_shared<completion>();
  return change_;
}

status submission_queue::had_no_room(duration limit) {
  const std::scoped_lock lock{mutex_};
  return {status_code::resource_exhausted,
          fmt::format("the coordinator's queue holds {} closures, its limit, and none ended within {} ms; schedule "
                      "slower, add workers, or raise queue_capacity or schedule_options::queue_limit",
                      unfinished_, in_milliseconds(limit))};
}

std::size_t submission_queue::drain(std::vector<std::shared_ptr<closure>>& into) {
  into.clear();
  const std::scoped_lock lock{mutex_};
  into.swap(pushed_);
  return std::exchange(pushed_for_any_, 0);
}

void submission_queue::release(std::size_t count) {
  std::shared_ptr<completion> change;
  {
    const std::scoped_lock lock{mutex_};
    unfinished_ -= count;
    change = std::move(change_);
  }
  if (change) change->set();
}

void submission_queue::close(const status& why) {
  std::vector<std::shared_ptr<closure>> left;
  std::shared_ptr<completion> change;
  {
    const std::scoped_lock lock{mutex_};
    if (closed_.ok()) closed_ = why;
    left.swap(pushed_);
    change = std::move(change_);
  }
  if (change) change->set();
  for (const auto& scheduled : left) scheduled->finish(why);
}

}  // namespace troupe
