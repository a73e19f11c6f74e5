// Stands in for nccl_group.cpp where it was not built.
#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/internal/nccl_group.hpp>

namespace troupe::cuda {

namespace {

[[noreturn]] void throw_without_nccl() {
  throw unavailable_error{
      "GPUs cannot join an NCCL group: this troupe was built without NCCL; choose another communication "
      "implementation, or install NCCL and the CUDA toolkit and build troupe with -DTROUPE_CUDA=ON"};
}

}  // namespace

bool is_nccl_built() noexcept { return false; }

device_group_id new_nccl_group() { throw_without_nccl(); }

std::unique_ptr<device_group> join_nccl_group(const std::string&, const device_group_id&, int, int) {
  throw_without_nccl();
}

}  // namespace troupe::cuda
