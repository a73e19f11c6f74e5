// What one life of a supervisor's child has spawned: its actors end together, and the supervisor hears of each end.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>

#include <mutex>
#include <vector>

namespace troupe {

class child_scope {
 public:
  explicit child_scope(caf::actor_addr supervisor) : supervisor_(std::move(supervisor)) {}
  child_scope(const child_scope&) = delete;

  /// Any thread. The supervisor monitors the actor, which ends at once if the child has ended.
  void keep(const caf::actor& actor);

  // --- of the supervisor ---

  bool holds(const caf::actor_addr& whom);
  /// This actor has ended. False: it is none of these.
  bool forget(const caf::actor_addr& ended);
  /// The child has ended: its actors that live, the latest first.
  std::vector<caf::actor> close();

 private:
  const caf::actor_addr supervisor_;
  std::mutex mutex_;
  bool closed_ = false;
  /// In the order of their spawning.
  std::vector<caf::actor> actors_;
};

}  // namespace troupe
