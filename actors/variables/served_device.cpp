#include <troupe/actors/variables/served_device.hpp>

#include <fmt/format.h>

namespace troupe {

void served_device::throw_is_late_again(const device_is_late_error& late) const {
  throw deadline_exceeded_error{
      late.get_status().wrap(fmt::format("the device had {} ms, since an operation before did not end within {} ms",
                                         in_milliseconds(limit_when_late_), in_milliseconds(limit_)))};
}

}  // namespace troupe
