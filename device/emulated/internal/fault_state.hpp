// What an emulated device suffers (emulated_faults.hpp). Private to the emulation.
#pragma once

#include <troupe/device/base/error.hpp>

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::emulation {

/// Thread-safe.
class faults {
 public:
  explicit faults(std::string device) : device_(std::move(device)) {}

  void fail(const std::string& reason);
  void exhaust_after(int allocations);
  void slow_down(double factor);

  /// Throws what has made the device fail.
  void check() const;
  /// Throws resource_exhausted_error when there is to be no memory for another allocation.
  void count_allocation(std::size_t bytes);
  /// Does the work, as far as the device can.
  void perform(std::string_view operation, const std::function<void()>& work);

 private:
  /// Fails the device if it is to fail. How slow it is otherwise.
  double begin(std::string_view operation);

  const std::string device_;
  mutable std::mutex mutex_;
  std::optional<std::string> reason_to_fail_;
  std::optional<status> failure_;
  std::optional<int> allocations_left_;
  double slowness_ = 1;
};

}  // namespace troupe::emulation
