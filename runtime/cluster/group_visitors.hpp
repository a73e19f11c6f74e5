// Who has come by a door of this process to be in a group with it, until his rank's connection is wanted.
//
// A rank that calls another one may be earlier than that one's own part of the meeting. So a connection waits here, and
// only in a process that is part of groups: elsewhere it is closed at once.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/runtime/door/channel.hpp>
#include <troupe/runtime/door/door_words.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <string>

namespace troupe {

/// Any thread.
class group_visitors {
 public:
  /// That wait; the one that has waited longest is closed for another.
  static constexpr std::size_t visitors_max = 1024;

  static group_visitors& of_process();

  /// From a door of this task; hello.topic is the meeting.
  void take(const task_id& host, channel connection, const door_hello& visitor);

  /// The connection of `visitor`, a task, for `meeting`. Waits.
  /// @throws deadline_exceeded_error that names it
  channel wait_for(const task_id& host, const std::string& meeting, const task_id& visitor,
                   std::chrono::steady_clock::time_point deadline);

 private:
  friend class group_host;
  struct waiting {
    task_id host;
    std::string meeting;
    task_id visitor;
    channel connection;
  };

  void begin(const task_id& host);
  void end(const task_id& host);

  std::mutex mutex_;
  std::condition_variable changed_;
  /// Tasks that may be in groups, once for each group_host.
  std::multiset<std::string> hosts_;
  std::deque<waiting> waiting_;
};

/// As long as it lives, visitors of this task are kept.
class group_host {
 public:
  explicit group_host(task_id host);
  ~group_host();
  group_host(const group_host&) = delete;
  group_host& operator=(const group_host&) = delete;

 private:
  const task_id host_;
};

}  // namespace troupe
