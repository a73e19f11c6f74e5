#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/remaining_time.hpp>

namespace troupe {

duration remaining_time() {
  const auto deadline = fiber_host::current_deadline();
  return deadline == never ? duration::max() : deadline - current_time();
}

}  // namespace troupe
