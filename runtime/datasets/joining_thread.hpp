// A thread that its owner waits for when it ends.
//
// As std::jthread, whose header every program would have to compile.
#pragma once

#include <functional>
#include <memory>

namespace troupe::detail {

class joining_thread {
 public:
  /// Not in a simulation.
  static bool is_possible();
  /// Starts it. An exception that leaves `work` ends the process. @throws resource_exhausted_error when there can be no
  /// further thread.
  explicit joining_thread(std::function<void()> work);
  /// Waits until `work` has returned.
  ~joining_thread();
  joining_thread(const joining_thread&) = delete;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe::detail
