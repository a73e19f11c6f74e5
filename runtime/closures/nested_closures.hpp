// A closure as it is scheduled, and what it owes to who schedules it.
//
// Deadlines and cancellations travel with the work: what a closure or a method of a server schedules has no more time
// than that has left itself, and is cancelled when that is. It goes on when its scheduler ends of itself: that may have
// left its remote value to others. `schedule_options::outlives_scheduler` says that it stands on its own.
#pragma once

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/runtime/closures/closure_arguments.hpp>

#include <memory>

namespace troupe::detail {

/// With the options that are sound, of which the limit is that of the calling fiber's work if that is sooner.
std::shared_ptr<closure> make_closure(packed_closure packed, const schedule_options& options);

/// It is scheduled: whatever cancels the calling fiber from now on cancels it, too, through its owner. Does nothing
/// outside of fibers.
void cancel_with_caller(const std::shared_ptr<closure>& scheduled, const coordinator_ptr& owner);

}  // namespace troupe::detail
