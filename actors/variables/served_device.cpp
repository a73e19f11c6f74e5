#include <troupe/actors/variables/served_device.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <fmt/format.h>

namespace troupe {

/// A byte goes there and back: past what hangs in copies from the host, and in the work.
void served_device::require_answer() {
  const device_waits_until end{std::chrono::steady_clock::now() + limit_when_late_};
  try {
    tensor::zeros(dtype::uint8, {1}).copy_to(name_).copy_to("CPU:0");
  } catch (const device_is_late_error& late) {
    throw deadline_exceeded_error{late.get_status().wrap(
        fmt::format("{} does not answer within {} ms, and did not end an operation before within {} ms", name_,
                    in_milliseconds(limit_when_late_), in_milliseconds(limit_)))};
  }
  is_late_.store(false, std::memory_order_relaxed);
}

}  // namespace troupe
