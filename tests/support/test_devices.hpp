// The devices that a test runs on: CPUs, or GPUs if the environment has TROUPE_TEST_DEVICES=GPU; emulated ones, if it
// has TROUPE_EMULATED_GPUS as well.
#pragma once

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/cuda/cuda_device.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// True if GPUs are asked for.
inline bool tests_gpus() {
  const auto* const asked = std::getenv("TROUPE_TEST_DEVICES");
  return asked != nullptr && std::string_view{asked} == "GPU";
}

/// Four names or more, unless there are two or three GPUs. A single GPU is eight logical devices. Empty: GPUs are asked
/// for, and there is none.
inline const std::vector<std::string>& test_devices() {
  static const auto found = []() -> std::vector<std::string> {
    if (!tests_gpus()) return {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
    if (cuda::physical_device_count() == 1) cuda::configure_logical_devices(8);
    return gpu_names();
  }();
  return found;
}

/// The first of them.
inline const std::string& test_device() { return test_devices().front(); }

inline bool tests_emulated_gpus() { return tests_gpus() && describe_device(test_device()).is_emulated; }

/// "CPU:0", "CPU:1", ..., or GPUs: for so many replicas.
inline std::vector<std::string> replica_devices(int count) {
  if (tests_gpus()) BOOST_REQUIRE(count <= static_cast<int>(test_devices().size()));
  std::vector<std::string> names;
  for (auto i = 0; i < count; ++i) names.push_back(fmt::format("{}:{}", tests_gpus() ? "GPU" : "CPU", i));
  return names;
}

}  // namespace troupe
