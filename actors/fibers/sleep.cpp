#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/actors/fibers/timers.hpp>

#include <thread>

namespace troupe {

void sleep_for(duration time) {
  if (auto* const host = fiber_host::current())
    wait_point::make()->wait_until(later(host->clock().now(), time));
  else
    std::this_thread::sleep_for(time);
}

}  // namespace troupe
