// A GPU that is emulated on the host: what accelerators.hpp promises of one, without hardware.
//
// Kernels are the host's own loops (device/kernels) over the device's memory, in the device's thread. So results are
// bitwise those of the host, but a program that forgets to bring a tensor over, to wait, or to keep within its memory
// fails as it does on a GPU.
#pragma once

#include <troupe/device/accelerators/accelerators.hpp>

#include <memory>

namespace troupe {

/// "GPU:<index>".
std::unique_ptr<accelerator> make_emulated_accelerator(int index, const emulation_options& options);

}  // namespace troupe
