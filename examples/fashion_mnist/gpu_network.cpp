#include "fashion_mnist/gpu_kernels.hpp"
#include "fashion_mnist/gpu_network.hpp"

#include <troupe/device/kernels/custom_kernel.hpp>
#include <troupe/device/kernels/matmul.hpp>
#include <troupe/device/kernels/reduction.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::fashion_mnist {

namespace {

/// outputs += bias of their column; ReLU, if this is no last layer.
custom_kernel add_bias(bool has_relu) {
  return {.name = "add_bias",
          .on_host =
              [has_relu](std::span<tensor> targets, std::span<const tensor> inputs) {
                const auto bias = inputs[0].values<float>();
                const auto outputs = targets[0].mutable_values<float>();
                for (std::size_t i = 0; i < outputs.size(); ++i) {
                  const auto sum = outputs[i] + bias[i % bias.size()];
                  outputs[i] = has_relu ? std::max(sum, 0.0f) : sum;
                }
              },
          .on_cuda = add_bias_on_cuda(has_relu)};
}

/// Through the ReLU: where the unit was off, nothing comes back.
custom_kernel stop_where_off() {
  return {.name = "stop_where_off",
          .on_host =
              [](std::span<tensor> targets, std::span<const tensor> inputs) {
                std::ranges::transform(targets[0].values<float>(), inputs[0].values<float>(),
                                       targets[0].mutable_values<float>().begin(),
                                       [](float delta, float output) { return output > 0 ? delta : 0.0f; });
              },
          .on_cuda = stop_where_off_on_cuda()};
}

/// What each layer puts out, the last one's logits at the end.
std::vector<tensor> forward(std::span<const tensor> parameters, const tensor& images) {
  std::vector<tensor> outputs;
  for (std::size_t i = 0; i < parameters.size(); i += 2) {
    auto output = matmul(i == 0 ? images : outputs.back(), parameters[i]);
    launch(add_bias(i + 2 < parameters.size()), {&output}, {parameters[i + 1]});
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
    launch(stop_where_off(), {&delta}, {below});
  }
  return result;
}

}  // namespace troupe::fashion_mnist
