// Look-ups of host names, with a bound on their threads.
//
// Problem: getaddrinfo blocks for up to 30 s when the name service is silent, and nothing interrupts it. Callers give
// up and try again long before. With a thread for each attempt a process has more threads each second, until it or its
// container can make no other ones.
//
// Solution: there is at most one look-up at a time for each name, and later callers join it. All look-ups of the
// process share a few threads, which start when there is work and end when there is none. Names wait for a thread in
// their order, and up to a limit.
//
//   name: queued -> in look-up -> forgotten, if callers waited for the result
//                              -> kept for a short time, for the next caller, if none waited
//
// NS-1 A name keeps its place in the queue when its callers give up, and its result is kept for the next attempt.
// Otherwise attempts with short limits would never get the result of a slow name service, and the names at the front of
// the queue would be looked up again and again before those behind them.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct name_service_options {
  std::size_t threads_max = 8;
  /// Names that are queued, in look-up or kept.
  std::size_t names_max = 4096;
  /// How long a result that nobody waited for is kept.
  loop_clock::duration kept_for = std::chrono::seconds{10};
  /// How long a thread without work stays.
  loop_clock::duration idle_time = std::chrono::seconds{10};
};

/// Any thread.
class name_service {
 public:
  /// Returns the addresses of a host, with port 0, or throws. May block.
  using resolver = std::function<std::vector<socket_address>(const std::string& host)>;
  using found = std::function<void(const std::vector<socket_address>& addresses, const status& why)>;

  explicit name_service(resolver resolve, name_service_options options = {});
  name_service(const name_service&) = delete;
  name_service& operator=(const name_service&) = delete;
  /// Does not wait for look-ups. Calls nobody from then on, except callers of look-ups that end right now.
  ~name_service();

  /// The process's own, with `resolve` of socket.hpp. It is never destroyed.
  static name_service& of_process();

  /// Calls `done` at most once, with the addresses, or with none and the reason; in a thread of this service, or in the
  /// caller's within this call. Once the deadline has passed it may not be called any more: the caller keeps its limit
  /// itself, and must do so.
  void look_up(const std::string& host, loop_clock::time_point deadline, found done);

 private:
  struct state;
  const std::shared_ptr<state> state_;
};

}  // namespace troupe
