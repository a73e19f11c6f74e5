// The work of an emulated device, done in order by a thread of its own. Private to the emulation.
//
// What is queued is bounded: who queues more waits until some of it is done, as with CUDA. A piece of work that throws
// has failed; its error is thrown by whoever waits next, once, and the work behind it goes on.
//
// A piece of work may hang. Whoever waits, for its end or for room behind it, does so until a deadline, and leaves
// memory of the host that it was to use withdrawn (host_memory_claim).
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
#include <thread>

namespace troupe::emulation {

using time_point = std::chrono::steady_clock::time_point;

/// A point in the work of a stream.
class event {
 public:
  /// Blocks until the work before that point is done. False at the deadline.
  [[nodiscard]] bool wait_until(time_point deadline);
  /// The same without one, for a stream's own thread: a device that waits for one that hangs, hangs too.
  void wait();
  bool is_reached();
  void set();

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  bool is_reached_ = false;
};

/// The use of somebody's memory by queued work, which he may end.
class host_memory_claim {
 public:
  /// In the stream's thread: nothing, once it is withdrawn.
  void use(const std::function<void()>& work);
  /// When it returns, the memory is not used, and never will be.
  void withdraw();

 private:
  std::mutex mutex_;
  bool is_withdrawn_ = false;
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

  /// False if there was no room until the deadline.
  [[nodiscard]] bool enqueue(std::function<void()> work, time_point deadline);
  /// For what is short, and belongs to work that had to find room.
  void enqueue_in_any_case(std::function<void()> work);
  /// Blocks until all that was queued before is done; false at the deadline. Throws what went wrong in it.
  [[nodiscard]] bool synchronize(time_point deadline);
  /// Throws what went wrong in work that is done, if nobody has heard of it.
  void throw_failure();
  /// Nobody shall hear of it.
  void forget_failure();
  /// The point behind all that is queued now.
  std::shared_ptr<event> record();
  /// Work that is queued here from now on starts after that point of another stream.
  void wait_for(std::shared_ptr<event> point);
  bool is_idle();

 private:
  void add(std::function<void()> work);
  void run(const std::stop_token& stop);
  /// What went wrong in it.
  std::exception_ptr perform(std::function<void()> work);
  void delay();

  const std::chrono::microseconds delay_max_;
  std::mt19937_64 random_;  // of the thread

  std::mutex mutex_;  // of these
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queued_;
  bool works_ = false;
  std::exception_ptr failure_;

  std::jthread thread_;
};

}  // namespace troupe::emulation
