#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/sleep.hpp>

namespace troupe {

void sleep_for(duration time) {
  completion never_set;
  never_set.wait_until(later(current_time(), time));
}

}  // namespace troupe
