// For what only a real GPU can do. Private to the CUDA part.
#pragma once

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <string>

namespace troupe::cuda {

/// Throws unimplemented_error for an emulated GPU, and as accelerators.hpp says.
inline void check_is_real(const std::string& device) {
  if (!accelerator_of(device).is_emulated()) return;
  throw unimplemented_error{fmt::format(
      "\"{}\" is emulated and has no stream of CUDA's; give a custom_kernel what it does there (on_host)", device)};
}

}  // namespace troupe::cuda
