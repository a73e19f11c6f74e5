// For how long one message keeps a coordinator from hearing the next, when it concerns all closures of a full queue.
//
// The coordinator runs, unchanged, on CAF's test scheduler in the calling thread, with stand-ins for 1,000 workers,
// which keep what they are sent until they are told to end it. What counts is the CPU time of its longest message.
#pragma once

#include <memory>

namespace troupe::tools {

class stalling_world {
 public:
  /// Where the closures of the full queue are: with the workers, or most of them still with the coordinator.
  enum class closures_are { in_flight, queued };

  explicit stalling_world(closures_are where);
  ~stalling_world();

  // Each returns the longest message's time in ms; one of them for each world, and `fill` before the others.

  /// Callers have scheduled so many closures before the coordinator looks.
  double fill();
  /// A worker is lost.
  double lose_worker();
  /// All closures pass their limit.
  double pass_limit();
  /// One closure has failed, and a join cancels all others.
  double join_after_error();

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe::tools
