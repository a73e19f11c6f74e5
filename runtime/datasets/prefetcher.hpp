// Reads a dataset ahead in a thread of its own, so that making elements and using them overlap.
//
// The order of elements, errors and the end is that of the iterator underneath: an error takes the place of its element
// in the queue. The thread starts when the first element is asked for, never has more than `capacity` elements ready
// or in the making, and ends after the element in hand when the prefetcher is destroyed, which waits for that. In a
// simulation, where nothing has a thread, elements are made when they are asked for.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/datasets/dataset_iterator.hpp>
#include <troupe/runtime/datasets/joining_thread.hpp>

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe::detail {

template <class T>
class prefetcher {
 public:
  /// capacity >= 1
  prefetcher(dataset_iterator<T> upstream, std::size_t capacity)
      : upstream_(std::move(upstream)), capacity_(capacity) {}
  ~prefetcher() {
    auto room = std::shared_ptr<completion>{};
    {
      const auto lock = std::lock_guard{mutex_};
      stopping_ = true;
      room = std::move(room_);
    }
    if (room) room->set();
  }
  prefetcher(const prefetcher&) = delete;
  prefetcher& operator=(const prefetcher&) = delete;

  /// As dataset_iterator::next_or_end; not to be called again after the end. Waits until the thread has an element: a
  /// fiber parks. @throws cancelled_error when it is cancelled
  std::optional<T> next() {
    if (!joining_thread::is_possible()) return upstream_.next_or_end();
    if (!thread_) thread_.emplace([this] { produce(); });
    auto result = take();
    if (result.thrown) std::rethrow_exception(result.thrown);
    return std::move(result.element);
  }

 private:
  struct outcome {  // of one call of the iterator underneath
    std::optional<T> element;
    std::exception_ptr thrown;
  };

  outcome take() {
    auto lock = std::unique_lock{mutex_};
    while (ready_.empty()) {
      const auto filled = filled_ = std::make_shared<completion>();
      lock.unlock();
      filled->wait_until(never, "an element of a dataset");
      lock.lock();
    }
    auto result = std::move(ready_.front());
    ready_.pop_front();
    const auto room = std::move(room_);
    lock.unlock();
    if (room) room->set();
    return result;
  }

  /// Waits for room. False: the prefetcher is being destroyed.
  bool has_room() {
    auto lock = std::unique_lock{mutex_};
    while (!stopping_ && ready_.size() == capacity_) {
      const auto room = room_ = std::make_shared<completion>();
      lock.unlock();
      room->wait_until(never, "room for an element of a dataset");
      lock.lock();
    }
    return !stopping_;
  }

  void produce() {
    for (auto ended = false; !ended && has_room();) {
      auto made = pull();
      ended = !made.element && !made.thrown;
      auto filled = std::shared_ptr<completion>{};
      {
        const auto lock = std::lock_guard{mutex_};
        ready_.push_back(std::move(made));
        filled = std::move(filled_);
      }
      if (filled) filled->set();
    }
  }

  outcome pull() noexcept {
    try {
      return {upstream_.next_or_end(), nullptr};
    } catch (...) {
      return {std::nullopt, std::current_exception()};
    }
  }

  dataset_iterator<T> upstream_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::shared_ptr<completion> room_;    // while the thread waits for room
  std::shared_ptr<completion> filled_;  // while somebody waits for an element
  std::deque<outcome> ready_;
  bool stopping_ = false;
  std::optional<joining_thread> thread_;  // the last member: it ends before what it uses
};

}  // namespace troupe::detail
