// Stands in for the CUDA part where it was not built: there is no GPU, and whoever names one learns why.
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/cuda_matmul.hpp>
#include <troupe/device/cuda/internal/cuda_kernels.hpp>
#include <troupe/device/cuda/internal/cuda_memory.hpp>

#include <fmt/format.h>

namespace troupe::cuda {

namespace {

[[noreturn]] void refuse(const std::string& device) {
  throw unavailable_error{fmt::format(
      "\"{}\" cannot be used: this troupe was built without CUDA; use \"CPU:0\", or install the CUDA toolkit and build "
      "troupe with -DTROUPE_CUDA=ON",
      device)};
}

}  // namespace

bool is_built() noexcept { return false; }
int physical_device_count() noexcept { return 0; }
std::vector<std::string> device_names() { return {}; }

void configure_logical_devices(int per_gpu) {
  if (per_gpu >= 1) return;
  throw invalid_argument_error{fmt::format("cannot make {} logical devices of each GPU; expected 1 or more", per_gpu)};
}

int physical_index_of(const std::string& device) { refuse(device); }
device_description describe(const std::string& device) { refuse(device); }
void synchronize(const std::string& device) { refuse(device); }
CUstream_st* stream_of(const std::string& device) { refuse(device); }

buffer allocate(const std::string& device, std::size_t) { refuse(device); }
buffer allocate_pinned(std::size_t bytes) { return buffer::allocate(bytes); }
void copy(std::byte*, const std::string& target_device, const std::byte*, const std::string& source_device,
          std::size_t) {
  refuse(target_device.find("CPU") == std::string::npos ? target_device : source_device);
}
void copy_runs(std::byte*, std::size_t, const std::byte*, std::size_t, std::size_t, const std::string& device) {
  refuse(device);
}
void set_zero(std::byte*, const std::string& device, std::size_t) { refuse(device); }
memory_statistics statistics_of_memory(const std::string& device) { refuse(device); }
memory_statistics statistics_of_pinned_memory() { return {}; }
void release_kept_pinned_memory() {}
void set_memory_limit(const std::string& device, std::size_t) { refuse(device); }
void release_kept_memory(const std::string& device) { refuse(device); }

template <class Operation>
void combine_in_place(tensor& target, const tensor&) {
  refuse(target.device());
}
template void combine_in_place<numeric::add>(tensor&, const tensor&);
template void combine_in_place<numeric::subtract>(tensor&, const tensor&);
template void combine_in_place<numeric::multiply>(tensor&, const tensor&);
template void combine_in_place<numeric::divide>(tensor&, const tensor&);
template void combine_in_place<numeric::minimum>(tensor&, const tensor&);
template void combine_in_place<numeric::maximum>(tensor&, const tensor&);

void scale_in_place(tensor& target, double) { refuse(target.device()); }
void axpy_in_place(tensor& target, double, const tensor&) { refuse(target.device()); }
void fill(tensor& target, double) { refuse(target.device()); }
tensor cast(const tensor& x, dtype) { refuse(x.device()); }
tensor reduce_sum(const tensor& x, std::span<const reduction_pass>, const shape&) { refuse(x.device()); }
tensor reduce_mean(const tensor& x, std::span<const reduction_pass>, const shape&, double) { refuse(x.device()); }
void sgd_update(tensor& variable, const tensor&, double) { refuse(variable.device()); }
void momentum_update(tensor& variable, tensor&, const tensor&, double, double, bool) { refuse(variable.device()); }
void adagrad_update(tensor& variable, tensor&, const tensor&, double, double) { refuse(variable.device()); }
void adam_update(tensor& variable, tensor&, tensor&, const tensor&, double, double, double, double) {
  refuse(variable.device());
}
tensor matmul(const tensor& a, const tensor&, transposition) { refuse(a.device()); }

}  // namespace troupe::cuda
