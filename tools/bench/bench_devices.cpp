#include "bench_devices.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/cuda/cuda_device.hpp>

#include <fmt/format.h>

namespace troupe::tools {

std::vector<figure> skipped(const std::string& why) { return {{.unit = skipped_unit, .reference = why}}; }

std::string missing_gpus(int count) {
  if (!cuda::is_built()) return "troupe was built without CUDA";
  const auto there = cuda::physical_device_count();
  if (there < count)
    return fmt::format("{} needed, {} found on this machine",
                       count == 1 ? "a GPU is" : fmt::format("{} GPUs are", count), there);
  if (describe_device("GPU:0").is_emulated)
    return fmt::format("{} is set, but this needs real GPUs", emulated_gpus_variable);
  return {};
}

std::vector<std::string> emulated_devices() {
  [[maybe_unused]] static const auto once = [] {
    emulate_gpus(emulated_count);
    return true;
  }();
  return gpu_names();
}

}  // namespace troupe::tools
