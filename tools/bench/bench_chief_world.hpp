// The chief's side of a large cluster, without the processes: what it sends, and what that costs it.
//
// Membership, failure detector and coordinator run, unchanged, on CAF's test scheduler in the calling thread, with
// stand-ins for the members, which count what they are sent. (Simulations of whole processes, which prove that all this
// is right, hold 250 of them: CAF tells nodes of one process apart by one byte.)
#pragma once

#include <cstdint>
#include <memory>

namespace troupe::tools {

/// What the chief's content of messages to members amounts to, and the CPU time of all of it, stand-ins included.
struct chief_effort {
  double bytes = 0;
  double milliseconds = 0;
};

class chief_world {
 public:
  /// Two of the members are servers; at least three in all.
  explicit chief_world(int members);
  ~chief_world();

  /// Takes all in, before anything else.
  chief_effort admit_all();
  /// Worker 0, or server 0, is lost; its process does not come back.
  chief_effort lose_worker();
  chief_effort lose_server();

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe::tools
