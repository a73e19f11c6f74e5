#include "test_devices.hpp"

#include <troupe/device/cuda/cuda_device.hpp>

#include <cstdlib>
#include <string_view>

namespace troupe {

namespace {

std::vector<std::string> find_devices() {
  if (!tests_gpus()) return {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
  if (cuda::physical_device_count() == 1) cuda::configure_logical_devices(4);
  return cuda::device_names();
}

}  // namespace

bool tests_gpus() {
  const auto* asked = std::getenv("TROUPE_TEST_DEVICES");
  return asked != nullptr && std::string_view{asked} == "GPU";
}

const std::vector<std::string>& test_devices() {
  static const auto devices = find_devices();
  return devices;
}

}  // namespace troupe
