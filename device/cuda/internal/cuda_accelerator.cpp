#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/internal/cuda_accelerator.hpp>
#include <troupe/device/cuda/internal/cuda_device_state.hpp>
#include <troupe/device/cuda/internal/cuda_kernels.hpp>
#include <troupe/device/cuda/internal/cuda_memory.hpp>
#include <troupe/device/cuda/internal/nccl_group.hpp>
#include <troupe/device/kernels/internal/adam_rate.hpp>

namespace troupe::cuda {

namespace {

class cuda_accelerator final : public accelerator {
 public:
  cuda_accelerator(const std::string& name, int physical_index) : accelerator(name, physical_index) {}

  bool is_emulated() const noexcept override { return false; }

  device_description describe() override {
    const auto& state = current();
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, state.physical_index()), "cudaGetDeviceProperties");
    device_description result{.name = state.name(),
                              .model = properties.name,
                              .physical_index = state.physical_index(),
                              .compute_capability_major = properties.major,
                              .compute_capability_minor = properties.minor};
    check(cudaMemGetInfo(&result.free_memory_bytes, &result.memory_bytes), "cudaMemGetInfo");
    return result;
  }

  void synchronize() override { current().synchronize(); }

  std::unique_ptr<work_point> record() override { return state_of(name()).record(); }

  // -- memory ---------------------------------------------------------------------------------------------------------

  buffer allocate(std::size_t bytes) override { return cuda::allocate(name(), bytes); }
  memory_statistics statistics() override { return state_of(name()).upload_memory().statistics(); }
  void set_memory_limit(std::size_t bytes) override { state_of(name()).memory().set_limit(bytes); }
  void release_kept_memory() override { state_of(name()).release_kept_memory(); }

  buffer upload(const std::byte* source, std::size_t bytes) override { return cuda::upload(name(), source, bytes); }
  void copy_from_host(std::byte* target, const std::byte* source, std::size_t bytes) override {
    cuda::copy_from_host(target, name(), source, bytes);
  }
  void copy_to_host(std::byte* target, const std::byte* source, std::size_t bytes) override {
    cuda::copy_to_host(target, source, name(), bytes);
  }
  void copy_from(accelerator& source_device, std::byte* target, const std::byte* source, std::size_t bytes) override {
    copy_between(target, name(), source, source_device.name(), bytes);
  }
  void copy_runs(std::byte* target, std::size_t target_stride, const std::byte* source, std::size_t run_bytes,
                 std::size_t run_count) override {
    cuda::copy_runs(target, target_stride, source, run_bytes, run_count, name());
  }
  void set_zero(std::byte* target, std::size_t bytes) override { cuda::set_zero(target, name(), bytes); }

  // -- computation ----------------------------------------------------------------------------------------------------

  void combine_in_place(binary_operation operation, tensor& target, const tensor& x) override {
    switch (operation) {
      case binary_operation::add:
        return cuda::combine_in_place<numeric::add>(target, x);
      case binary_operation::subtract:
        return cuda::combine_in_place<numeric::subtract>(target, x);
      case binary_operation::multiply:
        return cuda::combine_in_place<numeric::multiply>(target, x);
      case binary_operation::divide:
        return cuda::combine_in_place<numeric::divide>(target, x);
      case binary_operation::minimum:
        return cuda::combine_in_place<numeric::minimum>(target, x);
      case binary_operation::maximum:
        return cuda::combine_in_place<numeric::maximum>(target, x);
    }
  }
  void scale_in_place(tensor& target, double factor) override { cuda::scale_in_place(target, factor); }
  void axpy_in_place(tensor& target, double factor, const tensor& x) override {
    cuda::axpy_in_place(target, factor, x);
  }
  void fill(tensor& target, double value) override { cuda::fill(target, value); }
  tensor cast(const tensor& x, dtype type) override { return cuda::cast(x, type); }
  tensor reduce_sum(const tensor& x, const reduction_axes& axes) override {
    const auto reduced = axes.resolve(x.get_shape());
    return cuda::reduce_sum(x, plan_passes(x.get_shape(), reduced), reduced_shape(x.get_shape(), reduced));
  }
  tensor reduce_mean(const tensor& x, const reduction_axes& axes) override {
    const auto reduced = axes.resolve(x.get_shape());
    return cuda::reduce_mean(x, plan_passes(x.get_shape(), reduced), reduced_shape(x.get_shape(), reduced),
                             reduced_count(x.get_shape(), reduced));
  }
  tensor gather_rows(const tensor& source, std::span<const std::int64_t> indices) override {
    return cuda::gather_rows(source, indices);
  }
  void scatter_rows(row_operation operation, tensor& target, std::span<const std::int64_t> indices,
                    const tensor& rows) override {
    cuda::scatter_rows(operation, target, indices, rows);
  }
  tensor matmul(const tensor& a, const tensor& b, transposition transposed) override {
    return cuda::matmul(a, b, transposed);
  }

  void sgd_update(tensor& variable, const tensor& gradient, double learning_rate) override {
    cuda::sgd_update(variable, gradient, learning_rate);
  }
  void momentum_update(tensor& variable, tensor& velocity, const tensor& gradient, double learning_rate,
                       double momentum, bool nesterov) override {
    cuda::momentum_update(variable, velocity, gradient, learning_rate, momentum, nesterov);
  }
  void adagrad_update(tensor& variable, tensor& accumulator, const tensor& gradient, double learning_rate,
                      double epsilon) override {
    cuda::adagrad_update(variable, accumulator, gradient, learning_rate, epsilon);
  }
  void adam_update(tensor& variable, tensor& m, tensor& v, const tensor& gradient, double learning_rate, double beta1,
                   double beta2, double epsilon, std::int64_t step) override {
    cuda::adam_update(variable, m, v, gradient, adam_rate(learning_rate, beta1, beta2, step), beta1, beta2, epsilon);
  }

  void launch(const custom_kernel& kernel, std::span<tensor> targets, std::span<const tensor> inputs) override {
    kernel.on_cuda(targets, inputs, current().work().handle());
    check(cudaGetLastError(), kernel.name);
  }

  // -- collectives ----------------------------------------------------------------------------------------------------

  device_group_id new_group(group_reach) override { return new_nccl_group(); }
  std::unique_ptr<device_group> join_group(const device_group_id& id, int rank, int size) override {
    return join_nccl_group(name(), id, rank, size);
  }
  std::unique_ptr<work_point> record_collectives() override {
    auto& state = state_of(name());
    return state.record(state.collectives());
  }
  void wait_for_collectives() override {
    auto& state = state_of(name());
    state.order(state.work(), state.collectives());
  }

 private:
  device_state& current() {
    auto& state = state_of(name());
    state.make_current();
    return state;
  }
};

}  // namespace

std::unique_ptr<accelerator> make_accelerator(const std::string& device) {
  const auto physical_index = physical_index_of(device);
  return std::make_unique<cuda_accelerator>(device_name::parse(device).device(), physical_index);
}

}  // namespace troupe::cuda
