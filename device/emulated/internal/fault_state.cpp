#include <troupe/device/emulated/internal/fault_state.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>
#include <thread>

namespace troupe::emulation {

void faults::fail(const std::string& reason) {
  const std::scoped_lock lock{mutex_};
  reason_to_fail_ = reason;
}

void faults::hang() {
  const std::scoped_lock lock{mutex_};
  hangs_ = true;
}

void faults::exhaust_after(int allocations) {
  if (allocations < 0)
    throw invalid_argument_error{fmt::format(
        "{} can't have memory for {} more allocations; expected 0, which is none, or more", device_, allocations)};
  const std::scoped_lock lock{mutex_};
  allocations_left_ = allocations;
}

void faults::slow_down(double factor) {
  if (!(factor >= 1))
    throw invalid_argument_error{
        fmt::format("{} can't be {} times as slow; expected 1, which is as fast as usual, or more", device_, factor)};
  const std::scoped_lock lock{mutex_};
  slowness_ = factor;
}

void faults::repair() {
  const std::scoped_lock lock{mutex_};
  ++life_;
  hangs_ = false;
  reason_to_fail_.reset();
  failure_.reset();
  allocations_left_.reset();
  slowness_ = 1;
  repaired_.notify_all();
}

faults::life faults::check() const {
  const std::scoped_lock lock{mutex_};
  if (failure_) throw_status(*failure_);
  return life_;
}

void faults::count_allocation(std::size_t bytes) {
  const std::scoped_lock lock{mutex_};
  if (!allocations_left_) return;
  if (*allocations_left_ == 0)
    throw resource_exhausted_error{
        fmt::format("cannot allocate {} bytes on {}: its memory was made to be exhausted", bytes, device_)};
  --*allocations_left_;
}

void faults::perform(const std::string& operation, life queued_in, const std::function<void()>& work) {
  const std::shared_ptr<void> over{nullptr, [&](auto) { end(operation); }};
  const auto slowness = begin(operation, queued_in);
  if (!slowness) return;
  const auto start = std::chrono::steady_clock::now();
  work();
  if (*slowness > 1) std::this_thread::sleep_for((std::chrono::steady_clock::now() - start) * (*slowness - 1));
}

std::string faults::describe_work() const {
  const std::scoped_lock lock{mutex_};
  return operations_.empty() ? "it waits for another device"
                             : fmt::format("it is in {}", fmt::join(operations_, " and "));
}

std::optional<double> faults::begin(const std::string& operation, life queued_in) {
  std::unique_lock lock{mutex_};
  operations_.insert(operation);
  repaired_.wait(lock, [&] { return !hangs_ || life_ != queued_in; });
  if (life_ != queued_in) return {};
  if (reason_to_fail_ && !failure_)
    failure_ =
        status{status_code::internal, fmt::format("{} has failed in {}: {}; go on with the devices that are left",
                                                  device_, operation, *reason_to_fail_)};
  if (failure_) throw_status(*failure_);
  return slowness_;
}

void faults::end(const std::string& operation) {
  const std::scoped_lock lock{mutex_};
  if (const auto found = operations_.find(operation); found != operations_.end()) operations_.erase(found);
}

}  // namespace troupe::emulation
