// The model that the example trains: dense layers with ReLU between them and softmax cross entropy at the end.
//
// Everything here is a pure function of tensors and knows nothing of the cluster: that is what lets a closure run it on
// a worker, the plain loop run it without any, and a test check it against finite differences. Parameters are a flat
// list of tensors in the order of `parameter_names()`, two for each layer, because that is what variables hold:
//
//   dense1/kernel (784, 128)   dense1/bias (128)
//   dense2/kernel (128, 64)    dense2/bias (64)
//   dense3/kernel (64, 10)     dense3/bias (10)
//
// Parameters and images are float32, or all float64: the latter is for checking gradients. The arithmetic is Eigen's,
// on the calling thread alone, since the workers of a job are what keeps the cores busy; parameters and images that are
// on a GPU are computed there (gpu_network.hpp).
#pragma once

#include "fashion_mnist/data.hpp"

#include <troupe/device/tensor/tensor.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::fashion_mnist {

/// Inputs, hidden units, classes.
inline constexpr std::array<std::int64_t, 4> layer_sizes{image_pixels, 128, 64, class_count};

/// The names of the parameters of a network with `sizes.size() - 1` layers, in the order that all functions here use.
std::vector<std::string> parameter_names(std::span<const std::int64_t> sizes = layer_sizes);

/// Float32 parameters to start from, the same for the same seed everywhere: biases zero, kernels uniform in
/// +-sqrt(6 / (inputs + units)), as Glorot proposed. Throws `invalid_argument_error` for sizes that make no network.
std::vector<tensor> initial_parameters(std::uint64_t seed, std::span<const std::int64_t> sizes = layer_sizes);

struct step_result {
  /// Mean cross entropy of the batch, in nats.
  double loss = 0;
  /// The derivative of `loss` by each parameter, in the parameters' order, with their shapes and dtype.
  std::vector<tensor> gradients;
};

/// One forward and backward pass over images (n, inputs) and labels uint8 (n), n >= 1. The loss is finite whenever the
/// logits are. Throws `invalid_argument_error` for shapes or dtypes that do not fit together, naming the parameter, and
/// `out_of_range_error` for a label that is no class. Computes without suspending, within 128 KiB of stack.
step_result loss_and_gradients(std::span<const tensor> parameters, const tensor& images, const tensor& labels);

/// The share of images (n, inputs) whose largest logit is their label's, in [0, 1]. Errors as above.
double accuracy(std::span<const tensor> parameters, const tensor& images, const tensor& labels);

/// The same over a whole set, a block of images at a time so that memory stays small.
double accuracy(std::span<const tensor> parameters, const labelled_images& set);

}  // namespace troupe::fashion_mnist
