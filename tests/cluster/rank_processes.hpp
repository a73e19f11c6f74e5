// The ranks of a group as processes, copies of the test's own program, that a test watches, kills and freezes.
#pragma once

#include <troupe/runtime/launch/child_process.hpp>
#include <troupe/runtime/launch/line_splitter.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

class rank_processes {
 public:
  using milliseconds = std::chrono::milliseconds;
  /// What a test waits for must happen within this time; only a failing test uses it up.
  static constexpr milliseconds patience{60'000};

  /// Starts the ranks that are named, each with these arguments and its rank as the last one.
  rank_processes(const std::vector<std::string>& arguments, const std::vector<int>& ranks);

  /// The next line that the rank writes. Fails the test if none comes.
  std::string next_line(int rank, milliseconds limit = patience);
  /// Lets time pass, reading what comes.
  void pass(milliseconds time);
  void signal(int rank, int number) { find(rank).child.signal(number); }
  pid_t pid(int rank) { return find(rank).child.pid(); }
  exit_status end_of(int rank, milliseconds limit = patience);

 private:
  struct process {
    int rank;
    child_process child;
    line_splitter lines;
    std::deque<std::string> read;
  };

  process& find(int rank);
  bool pump(milliseconds limit, const std::function<bool()>& done);
  static void read_from(process& from);

  std::vector<process> processes_;
};

}  // namespace troupe
