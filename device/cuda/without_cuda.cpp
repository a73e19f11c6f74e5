// Stands in for the CUDA part where it was not built: there is no real GPU, and whoever names one learns why.
#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/internal/cuda_accelerator.hpp>
#include <troupe/device/cuda/internal/cuda_memory.hpp>
#include <troupe/device/cuda/internal/real_device.hpp>

#include <fmt/format.h>

namespace troupe::cuda {

bool is_built() noexcept { return false; }
int physical_device_count() noexcept { return 0; }
int logical_device_count() { return 0; }

void configure_logical_devices(int per_gpu) {
  if (per_gpu >= 1) return;
  throw invalid_argument_error{fmt::format("cannot make {} logical devices of each GPU; expected 1 or more", per_gpu)};
}

std::unique_ptr<accelerator> make_accelerator(const std::string& device) {
  throw unavailable_error{
      fmt::format("\"{}\" cannot be used: this troupe was built without CUDA; use \"CPU:0\", emulate GPUs ({}=4), or "
                  "install the CUDA toolkit and build troupe with -DTROUPE_CUDA=ON",
                  device, emulated_gpus_variable)};
}

int physical_index_of(const std::string& device) { return accelerator_of(device).physical_index(); }

CUstream_st* stream_of(const std::string& device) {
  check_is_real(device);
  return nullptr;  // no device is real here
}

buffer allocate_pinned(std::size_t bytes) { return buffer::allocate(bytes); }
memory_statistics statistics_of_pinned_memory() { return {}; }
void release_kept_pinned_memory() {}

}  // namespace troupe::cuda
