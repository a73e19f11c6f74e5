// What an emulated device suffers (emulated_faults.hpp). Private to the emulation.
#pragma once

#include <troupe/device/base/error.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace troupe::emulation {

/// Thread-safe.
class faults {
 public:
  /// The times between two repairs.
  using life = std::uint64_t;

  explicit faults(std::string device) : device_(std::move(device)) {}

  void fail(const std::string& reason);
  void hang();
  void exhaust_after(int allocations);
  void slow_down(double factor);
  /// Ends all of these, and the work of this life that has not been done.
  void repair();

  /// This life. Throws what has made the device fail.
  life check() const;
  /// Throws resource_exhausted_error when there is to be no memory for another allocation.
  void count_allocation(std::size_t bytes);
  /// Does the work, which was queued in that life, as far as the device can.
  void perform(const std::string& operation, life queued_in, const std::function<void()>& work);

  /// What the device does: "it is in add_in_place", "it is in matmul and copy_from_host".
  std::string describe_work() const;

 private:
  /// Fails the device if it is to fail, and waits if it is to hang. How slow it is otherwise; nothing if the work's
  /// life is over.
  std::optional<double> begin(const std::string& operation, life queued_in);
  void end(const std::string& operation);

  const std::string device_;
  mutable std::mutex mutex_;
  std::condition_variable repaired_;
  life life_ = 0;
  /// What it is in, on each of its streams.
  std::multiset<std::string> operations_;
  bool hangs_ = false;
  std::optional<std::string> reason_to_fail_;
  std::optional<status> failure_;
  std::optional<int> allocations_left_;
  double slowness_ = 1;
};

}  // namespace troupe::emulation
