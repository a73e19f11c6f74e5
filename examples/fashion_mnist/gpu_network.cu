#include "fashion_mnist/gpu_network.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/kernels/matmul.hpp>
#include <troupe/device/kernels/reduction.hpp>

#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

namespace troupe::fashion_mnist {

namespace {

constexpr unsigned threads_per_block = 256;

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>((count + threads_per_block - 1) / threads_per_block);
}

__device__ std::int64_t this_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/// outputs += bias of their column; ReLU, if this is no last layer.
__global__ void add_bias(float* outputs, const float* bias, std::int64_t count, std::int64_t units, bool has_relu) {
  const auto i = this_index();
  if (i >= count) return;
  const auto sum = outputs[i] + bias[i % units];
  outputs[i] = has_relu && sum < 0 ? 0 : sum;
}

/// Through the ReLU: where the unit was off, nothing comes back.
__global__ void stop_where_off(float* delta, const float* outputs, std::int64_t count) {
  const auto i = this_index();
  if (i < count && outputs[i] <= 0) delta[i] = 0;
}

const float* elements(const tensor& x) { return reinterpret_cast<const float*>(x.data()); }
float* mutable_elements(tensor& x) { return reinterpret_cast<float*>(x.mutable_data()); }

void check_launch(const char* kernel) {
  const auto result = cudaGetLastError();
  if (result != cudaSuccess) throw internal_error{std::string{kernel} + ": " + cudaGetErrorString(result)};
}

/// What each layer puts out, the last one's logits at the end.
std::vector<tensor> forward(std::span<const tensor> parameters, const tensor& images) {
  std::vector<tensor> outputs;
  for (std::size_t i = 0; i < parameters.size(); i += 2) {
    auto output = matmul(i == 0 ? images : outputs.back(), parameters[i]);
    const auto count = output.element_count();
    auto* const elements_of_output = mutable_elements(output);
    add_bias<<<blocks_for(count), threads_per_block, 0, cuda::stream_of(output.device())>>>(
        elements_of_output, elements(parameters[i + 1]), count, output.get_shape()[1], i + 2 < parameters.size());
    check_launch("add_bias");
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

step_result loss_and_gradients_on_gpu(std::span<const tensor> parameters, const tensor& images,
                                      const loss_function& loss) {
  const auto outputs = forward(parameters, images);
  auto logits = outputs.back().copy_to("CPU:0");
  step_result result;
  result.loss = loss(logits);
  result.gradients.resize(parameters.size());
  auto delta = logits.copy_to(images.device());
  for (auto layer = outputs.size(); layer-- > 0;) {
    const auto& below = layer == 0 ? images : outputs[layer - 1];
    result.gradients[2 * layer] = matmul(below, delta, {.of_a = true});
    result.gradients[2 * layer + 1] = reduce_sum(delta, 0);
    if (layer == 0) break;
    delta = matmul(delta, parameters[2 * layer], {.of_b = true});
    auto* const elements_of_delta = mutable_elements(delta);
    stop_where_off<<<blocks_for(delta.element_count()), threads_per_block, 0, cuda::stream_of(delta.device())>>>(
        elements_of_delta, elements(below), delta.element_count());
    check_launch("stop_where_off");
  }
  return result;
}

}  // namespace troupe::fashion_mnist
