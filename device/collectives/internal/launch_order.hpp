// In which order the groups of a process launch their collectives on devices. Private to launch_turn.cpp, which has the
// order over several processes.
//
// Problem: a launch waits in its device's queue for those of the group's other devices. Two groups over the same
// devices, used by different threads, may launch A, B on one and B, A on the other: then both wait for each other, for
// ever. Solution: a group launches on all of its devices before another that shares one of them launches on any.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace troupe {

/// What the ranks of one group share. All members from any thread.
class launch_order {
 public:
  /// As many ranks as devices.
  explicit launch_order(std::vector<std::string> devices) : devices_(std::move(devices)) {}
  launch_order(const launch_order&) = delete;
  launch_order& operator=(const launch_order&) = delete;
  ~launch_order() { close(); }

  /// Each rank before it launches a call on which all have agreed. True once it is the group's turn, false at the
  /// deadline, or when the group was closed.
  [[nodiscard]] bool begin(std::chrono::steady_clock::time_point deadline);
  /// The same without waiting.
  [[nodiscard]] bool try_begin();
  /// Gives the turn back, of which no rank has made use yet. Nothing without one.
  void withdraw();
  /// Each rank when it has launched. The last one ends the group's turn.
  void end();
  /// The group launches nothing any more.
  void close() noexcept;

 private:
  bool can_begin() const;
  void take_turn();
  void give_devices_back();

  const std::vector<std::string> devices_;
  // Under the mutex of all groups.
  bool has_turn_ = false;
  bool closed_ = false;
  std::size_t launched_ = 0;
};

}  // namespace troupe
