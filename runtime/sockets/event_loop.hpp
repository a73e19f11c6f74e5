// One thread that waits for many sockets: what both ends of the bulk transport run on, and the doors of ports.
//
// Problem: a thread for each connection costs an idle node memory, needs a bound that a few frozen peers can use up,
// and makes "nothing is written after the deadline" a matter of locks. Solution: the sockets of one direction belong to
// one loop. Its thread alone touches their state, so a deadline is a timer that closes a socket, and a frozen peer
// costs a table entry. One thread is enough because moving bytes is all it does: on loopback it is as fast as a raw
// stream.
//
// L-1 Handlers, timers and posted work run in the loop's thread, one at a time. L-2 A handler never runs after its
// watched_socket is gone, a timer never after cancel(). L-3 After stop() nothing runs any more.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

using loop_clock = std::chrono::steady_clock;

/// The time `span` from now, without overflow: duration::max() means as long as the clock counts.
inline loop_clock::time_point time_after(loop_clock::duration span) {
  const auto now = loop_clock::now();
  return span > loop_clock::time_point::max() - now ? loop_clock::time_point::max() : now + span;
}

/// An epoll loop with timers. Everything but post() and stop() belongs to the loop's thread; before start() it belongs
/// to the thread that made the loop, after stop() to the one that stopped it. Handlers must not throw.
class event_loop {
 public:
  /// Bits of epoll: EPOLLIN, EPOLLOUT and so on.
  using events = std::uint32_t;
  using timer = std::pair<loop_clock::time_point, std::uint64_t>;

  /// Throws resource_exhausted_error when no descriptor is left.
  event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;
  ~event_loop() { stop(); }

  /// Starts the thread. `name` shows in debuggers, at most 15 characters. Throws resource_exhausted_error.
  void start(const char* name);
  /// Runs what was posted before, ends the thread and waits for it. Not from the loop's own thread.
  void stop();

  /// From any thread: runs `work` in the loop. False, and nothing runs, once the loop is stopped.
  bool post(std::function<void()> work);

  /// Whether this is the loop's thread. From any thread, once it has started.
  bool is_here() const { return std::this_thread::get_id() == thread_.get_id(); }

  /// A number for each round of the loop, in which every ready socket, due timer and posted work has its turn.
  std::uint64_t round() const { return round_; }

  /// Runs `work` once, not before `when`.
  timer at(loop_clock::time_point when, std::function<void()> work);
  void cancel(const timer& which) { timers_.erase(which); }

 private:
  friend class watched_socket;
  using handler = std::function<void(events)>;

  void run();
  void run_posted();
  void fire_timers();
  void wait();
  int wait_limit_ms() const;

  descriptor epoll_;
  descriptor wake_;
  std::unordered_map<std::uint64_t, std::shared_ptr<handler>> handlers_;
  std::map<timer, std::function<void()>> timers_;
  std::uint64_t last_number_ = 0;
  std::uint64_t round_ = 0;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  bool stopping_ = false;
  std::thread thread_;
};

/// A socket that a loop waits for; closed with this object.
class watched_socket {
 public:
  /// Throws resource_exhausted_error when the kernel watches no more sockets.
  watched_socket(event_loop& loop, descriptor socket, event_loop::events expected,
                 std::function<void(event_loop::events)> ready);
  watched_socket(const watched_socket&) = delete;
  watched_socket& operator=(const watched_socket&) = delete;
  ~watched_socket();

  int get() const noexcept { return socket_.get(); }
  /// Hands the socket over, which the loop no longer watches.
  descriptor release();
  /// Waits for these events from now on; errors and hang-ups are always reported.
  void expect(event_loop::events expected) noexcept;

 private:
  event_loop& loop_;
  descriptor socket_;
  std::uint64_t number_;
  event_loop::events expected_;
};

}  // namespace troupe
