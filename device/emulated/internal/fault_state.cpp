#include <troupe/device/emulated/internal/fault_state.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace troupe::emulation {

void faults::fail(const std::string& reason) {
  const std::scoped_lock lock{mutex_};
  reason_to_fail_ = reason;
}

void faults::exhaust_after(int allocations) {
  const std::scoped_lock lock{mutex_};
  allocations_left_ = std::max(allocations, 0);
}

void faults::slow_down(double factor) {
  if (!(factor >= 1))
    throw invalid_argument_error{
        fmt::format("{} can't be {} times as slow; expected 1, which is as fast as usual, or more", device_, factor)};
  const std::scoped_lock lock{mutex_};
  slowness_ = factor;
}

void faults::check() const {
  const std::scoped_lock lock{mutex_};
  if (failure_) throw_status(*failure_);
}

void faults::count_allocation(std::size_t bytes) {
  const std::scoped_lock lock{mutex_};
  if (!allocations_left_) return;
  if (*allocations_left_ == 0)
    throw resource_exhausted_error{
        fmt::format("cannot allocate {} bytes on {}: its memory was made to be exhausted", bytes, device_)};
  --*allocations_left_;
}

void faults::perform(std::string_view operation, const std::function<void()>& work) {
  const auto slowness = begin(operation);
  const auto start = std::chrono::steady_clock::now();
  work();
  if (slowness > 1) std::this_thread::sleep_for((std::chrono::steady_clock::now() - start) * (slowness - 1));
}

double faults::begin(std::string_view operation) {
  const std::scoped_lock lock{mutex_};
  if (reason_to_fail_ && !failure_)
    failure_ =
        status{status_code::internal, fmt::format("{} has failed in {}: {}; go on with the devices that are left",
                                                  device_, operation, *reason_to_fail_)};
  if (failure_) throw_status(*failure_);
  return slowness_;
}

}  // namespace troupe::emulation
