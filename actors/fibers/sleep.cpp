#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/sleep.hpp>

namespace troupe {

void sleep_for(duration time) {
  const awaiting scope{"the end of sleep_for"};
  completion never_set;
  never_set.wait_until(later(current_time(), time));
}

}  // namespace troupe
