// A program that a test starts and reads, whatever it is: an example, an interpreter.
#pragma once

#include <troupe/runtime/launch/child_process.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class watched_program {
 public:
  /// What a test waits for must happen within this time; only a failing test uses it up.
  static constexpr std::chrono::milliseconds patience{60'000};

  watched_program(const std::string& path, std::vector<std::string> arguments);

  /// Waits until it has written `text`, to standard output or standard error; what it has written until then. Fails
  /// the test if it does not.
  const std::string& output_with(std::string_view text);
  /// Everything that it writes until its end.
  const std::string& output();

  void signal(int number) { child_.signal(number); }
  /// "exit code 0". Fails the test if it does not end.
  std::string end();

 private:
  using clock = std::chrono::steady_clock;

  bool read_some(clock::time_point limit);
  void read_from(descriptor& file);

  child_process child_;
  std::string output_;
};

}  // namespace troupe
