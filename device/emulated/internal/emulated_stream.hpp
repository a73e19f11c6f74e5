// The work of an emulated device, done in order by a thread of its own. Private to the emulation.
//
// What is queued is bounded: who queues more waits until some of it is done, as with CUDA. A piece of work that throws
// has failed; its error is thrown by whoever waits next, once, and the work behind it goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

namespace troupe::emulation {

/// A point in the work of a stream.
class event {
 public:
  /// Blocks until the work before that point is done.
  void wait();
  void set();

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  bool is_reached_ = false;
};

struct stream_options {
  /// Each piece of work begins up to so much later, as these random numbers say.
  std::chrono::microseconds delay_max{0};
  std::uint64_t seed = 0;
};

/// Any thread may queue. Its own thread starts with the first work, so that a process that forks before it uses a
/// device has none.
class stream {
 public:
  static constexpr std::size_t queued_max = 1024;

  explicit stream(const stream_options& options) : delay_max_(options.delay_max), random_(options.seed) {}
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  /// Does what is queued.
  ~stream();

  void enqueue(std::function<void()> work);
  /// Blocks until all that was queued before is done. Throws what went wrong in it.
  void synchronize();
  /// The point behind all that is queued now.
  std::shared_ptr<event> record();
  /// Work that is queued here from now on starts after that point of another stream.
  void wait_for(std::shared_ptr<event> point);

 private:
  void run(const std::stop_token& stop);
  void delay();

  const std::chrono::microseconds delay_max_;
  std::mt19937_64 random_;  // of the thread

  std::mutex mutex_;  // of these
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queued_;
  std::exception_ptr failure_;

  std::jthread thread_;
};

}  // namespace troupe::emulation
