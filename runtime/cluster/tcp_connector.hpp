// Opens TCP connections without a wait: one thread of the process for all of them.
//
// Problem: connect(2) blocks for up to 127 s at an address that swallows what is sent to it, and CAF's middleman calls
// it for one address at a time; so one host that is switched off kept everybody else out. And the kernel repeats what
// it sends to a host that is cut off after 1, 3 and 7 s, so a connection that began during a short cut comes long after
// it. Solution: all connects are under way at the same time, each with a limit, and each begins again every
// `attempt_interval` while its earlier attempts go on: the first that ends well counts. So a link is back within one
// interval of its heal, and a slow network has the whole limit for each attempt. What a door is to hear is said on that
// first one.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/task.hpp>
#include <troupe/runtime/door/visit.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>
#include <troupe/runtime/sockets/name_lookup.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace troupe {

struct tcp_connector_options {
  duration attempt_interval = std::chrono::milliseconds{100};
  /// That go on at the same time at one host, each with a descriptor: the first one, and the latest.
  std::size_t attempts_max = 8;
};

class tcp_connector {
 public:
  using name_lookup = std::function<decltype(look_up_name)>;
  /// Takes the connection, which does not block, and who is there; or none and why.
  using connected = std::function<void(channel opened, const door_hello& host, const status& why)>;

  /// The thread starts with the first connect.
  explicit tcp_connector(tcp_connector_options options = {}, name_lookup look_up = look_up_name);
  tcp_connector(const tcp_connector&) = delete;
  tcp_connector& operator=(const tcp_connector&) = delete;
  /// Connects that are under way end as `cancelled`.
  ~tcp_connector();

  /// The process's own, which is never destroyed: whoever hears of a connect may be the last to hold an actor, and
  /// ends it in the connector's thread then.
  static tcp_connector& of_process();

  /// Begins to connect and returns at once. `done` is called once, in any thread, within the limit: with a socket of
  /// which the next byte is the service's. Without `words` there is no door.
  void connect(const task_address& where, duration limit, visitor_words words, connected done);

 private:
  struct race;

  void begin(const task_address& where, duration limit, visitor_words words, connected done);
  void attempt(std::uint64_t number);
  void attempt_ended(std::uint64_t number, std::uint64_t attempt);
  void attempt_failed(std::uint64_t number);
  void give_up(std::uint64_t number);
  static std::string what_did_not_answer(const race& of);
  void visit_host(std::uint64_t number, descriptor socket);
  void finish(std::uint64_t number, channel opened, const door_hello& host, const status& why);

  const tcp_connector_options options_;
  const name_lookup look_up_;
  std::mutex mutex_;
  std::shared_ptr<event_loop> loop_;
  /// In the loop's thread.
  std::map<std::uint64_t, std::unique_ptr<race>> races_;
  std::uint64_t last_number_ = 0;
};

}  // namespace troupe
