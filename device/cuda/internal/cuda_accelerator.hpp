// GPUs of CUDA as accelerators (accelerator.hpp). Private to accelerators.cpp.
#pragma once

#include <troupe/device/accelerators/accelerator.hpp>

#include <memory>
#include <string>

namespace troupe::cuda {

/// For a name of a logical device, such as "GPU:1". The GPU itself is used from the first call on that needs it. Throws
/// as accelerators.hpp says.
std::unique_ptr<accelerator> make_accelerator(const std::string& device);

}  // namespace troupe::cuda
