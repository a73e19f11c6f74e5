#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/internal/cuda_check.hpp>

#include <fmt/format.h>

namespace troupe::cuda {

namespace {

status_code code_of(cudaError_t result) {
  switch (result) {
    case cudaErrorMemoryAllocation:
      return status_code::resource_exhausted;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
      return status_code::unavailable;
    default:
      return status_code::internal;
  }
}

std::string current_gpu() {
  auto gpu = -1;
  return cudaGetDevice(&gpu) == cudaSuccess ? fmt::format("CUDA device {}", gpu) : "no CUDA device";
}

}  // namespace

std::string_view file_name_of(const source_location& place) {
  const std::string_view path{place.file_name()};
  return path.substr(path.find_last_of('/') + 1);
}

void throw_failure(cudaError_t result, std::string_view call, const source_location& place) {
  const auto gpu = current_gpu();
  static_cast<void>(cudaGetLastError());  // or the next launch would report this error again
  throw_status(
      {code_of(result), fmt::format("{} failed on {}: {} ({}), at {}:{}", call, gpu, cudaGetErrorString(result),
                                    cudaGetErrorName(result), file_name_of(place), place.line())});
}

}  // namespace troupe::cuda
