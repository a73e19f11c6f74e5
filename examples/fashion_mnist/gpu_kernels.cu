#include "fashion_mnist/gpu_kernels.hpp"

namespace troupe::fashion_mnist {

namespace {

constexpr unsigned threads_per_block = 256;

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>((count + threads_per_block - 1) / threads_per_block);
}

__device__ std::int64_t this_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

__global__ void add_bias(float* outputs, const float* bias, std::int64_t count, std::int64_t units, bool has_relu) {
  const auto i = this_index();
  if (i >= count) return;
  const auto sum = outputs[i] + bias[i % units];
  outputs[i] = has_relu && sum < 0 ? 0 : sum;
}

__global__ void stop_where_off(float* delta, const float* outputs, std::int64_t count) {
  const auto i = this_index();
  if (i < count && outputs[i] <= 0) delta[i] = 0;
}

const float* elements(const tensor& x) { return reinterpret_cast<const float*>(x.data()); }
float* mutable_elements(tensor& x) { return reinterpret_cast<float*>(x.mutable_data()); }

}  // namespace

cuda_function add_bias_on_cuda(bool has_relu) {
  return [has_relu](std::span<tensor> targets, std::span<const tensor> inputs, CUstream_st* stream) {
    const auto count = targets[0].element_count();
    const auto units = inputs[0].element_count();
    add_bias<<<blocks_for(count), threads_per_block, 0, stream>>>(mutable_elements(targets[0]), elements(inputs[0]),
                                                                  count, units, has_relu);
  };
}

cuda_function stop_where_off_on_cuda() {
  return [](std::span<tensor> targets, std::span<const tensor> inputs, CUstream_st* stream) {
    const auto count = targets[0].element_count();
    stop_where_off<<<blocks_for(count), threads_per_block, 0, stream>>>(mutable_elements(targets[0]),
                                                                        elements(inputs[0]), count);
  };
}

}  // namespace troupe::fashion_mnist
