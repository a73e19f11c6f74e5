// Schedules closures onto the cluster's workers from any member: an actor on a worker, a closure, an evaluator.
//
//   void on_member(troupe::member& here) {
//     here.offer("planner", here.spawn(planner, here.coordinator()));   // an actor schedules, and takes values by then
//   }
//
// They go through the chief, whose coordinator runs them like its own program's, and come back as remote values. What
// is different: a closure that fails is its owner's affair, and no error of the program's; there is no `join`, since
// each remote value says when it has ended; and a closure is handed to the chief once, so that it fails with
// `unavailable` when the link to the chief is lost meanwhile, whether it has run or not. When the program raises an
// error of its own, which cancels everything, these are cancelled, too. A member that is lost takes its closures along.
#pragma once

#include <troupe/actors/offers/member.hpp>
#include <troupe/runtime/closure_scheduler.hpp>

#include <memory>

namespace troupe {

class member_services;

/// Thread-safe; a copy is the same. `schedule` waits only when the member's queue is full: it suspends a fiber and
/// blocks any other thread. It throws failed_precondition_error after the member's end. Remote values that are
/// arguments go along with their results, when they are there; per-worker values are the chief's program's only.
class remote_coordinator : public closure_scheduler<remote_coordinator> {
 public:
  explicit remote_coordinator(const member& here);

 private:
  friend class closure_scheduler<remote_coordinator>;
  std::shared_ptr<closure> enqueue(detail::packed_closure packed, const schedule_options& options) const;
  const coordinator_ptr& owner_of_closures() const;

  std::shared_ptr<member_services> services_;
};

inline remote_coordinator member::coordinator() const { return remote_coordinator{*this}; }

}  // namespace troupe
