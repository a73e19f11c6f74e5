// Doing nothing for a while without holding others up.
#pragma once

#include <troupe/actors/fibers/time.hpp>

namespace troupe {

/// Returns after `time`. In a closure, a method of a server, a replica's function or any other fiber it suspends the
/// fiber, and what else runs on that worker or server goes on; elsewhere it blocks the thread. In a simulation the time
/// is virtual, and costs nothing. With `duration::max()` only a cancellation ends it.
/// @throws cancelled_error when the fiber is cancelled: the closure is not wanted any more, its client is gone.
void sleep_for(duration time);

}  // namespace troupe
