// How long the work that runs here may still take.
#pragma once

#include <troupe/actors/fibers/time.hpp>

namespace troupe {

/// What is left of the time of the closure (`schedule_options::limit`), or of the call of the method, whose code runs
/// here: after that nobody waits for its result. What it schedules or calls has no more time than that. Negative when
/// the time is over; `duration::max()` for work without a limit, and outside of closures and methods. Any thread or
/// fiber.
duration remaining_time();

}  // namespace troupe
