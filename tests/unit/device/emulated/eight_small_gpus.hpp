// The GPUs of this test program, which are emulated: chosen once for a process.
#pragma once

#include <troupe/device/accelerators/accelerators.hpp>

#include <chrono>
#include <cstddef>

namespace troupe {

struct eight_small_gpus {
  static constexpr std::size_t memory_bytes = std::size_t{8} << 20;

  eight_small_gpus() {
    [[maybe_unused]] static const auto once = [] {
      emulate_gpus(8, {.memory_bytes = memory_bytes, .delay_max = std::chrono::microseconds{300}, .seed = 11});
      return true;
    }();
  }
};

}  // namespace troupe
