// The devices that a test runs on: CPUs, or GPUs if the environment has TROUPE_TEST_DEVICES=GPU.
#pragma once

#include <string>
#include <vector>

namespace troupe {

/// True if GPUs are asked for.
bool tests_gpus();

/// Four names or more, unless there are two or three GPUs. A single GPU is four logical devices.
const std::vector<std::string>& test_devices();

/// The first of them.
inline const std::string& test_device() { return test_devices().front(); }

}  // namespace troupe
