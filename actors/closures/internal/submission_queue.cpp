#include <troupe/actors/closures/internal/submission_queue.hpp>

#include <fmt/format.h>

namespace troupe {

bool submission_queue::push(std::shared_ptr<closure> scheduled) {
  std::unique_lock lock{mutex_};
  if (unfinished_ >= capacity_ && closed_.ok()) {
    ++waiting_;
    const auto limit = scheduled->options.queue_limit;
    const auto has_room = room_.wait_until(lock, later(std::chrono::steady_clock::now(), limit),
                                           [this] { return unfinished_ < capacity_ || !closed_.ok(); });
    --waiting_;
    if (!has_room)
      throw resource_exhausted_error{fmt::format(
          "the coordinator's queue holds {} closures, its limit, and none ended within {} ms; schedule slower, add "
          "workers, or raise queue_capacity or schedule_options::queue_limit",
          unfinished_, std::chrono::duration_cast<std::chrono::milliseconds>(limit).count())};
  }
  if (!closed_.ok()) throw_status(closed_);
  ++unfinished_;
  pushed_.push_back(std::move(scheduled));
  return pushed_.size() == 1;
}

void submission_queue::drain(std::vector<std::shared_ptr<closure>>& into) {
  into.clear();
  const std::scoped_lock lock{mutex_};
  into.swap(pushed_);
}

void submission_queue::release(std::size_t count) {
  const std::scoped_lock lock{mutex_};
  unfinished_ -= count;
  if (waiting_ != 0) room_.notify_all();
}

void submission_queue::close(const status& why) {
  std::vector<std::shared_ptr<closure>> left;
  {
    const std::scoped_lock lock{mutex_};
    if (closed_.ok()) closed_ = why;
    left.swap(pushed_);
    room_.notify_all();
  }
  for (const auto& scheduled : left) scheduled->finish(why);
}

}  // namespace troupe
