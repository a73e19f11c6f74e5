// The coordinator's own cost per closure, without threads, links and user code.
//
// The coordinator runs, unchanged, on CAF's test scheduler in the calling thread, with workers that answer every order
// at once. Only its turns are timed, by the thread's CPU time: what the workers' stand-ins cost does not count, and
// neither does what else the machine does.
#pragma once

#include <cstdint>
#include <memory>

namespace troupe::tools {

class coordinator_world {
 public:
  /// The coordinator has admitted all workers when this returns.
  explicit coordinator_world(int workers);
  ~coordinator_world();

  /// Schedules so many no-op closures, runs them to their end, and returns the coordinator's CPU time for each, in ns.
  double cost_ns(std::int64_t closures);

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe::tools
