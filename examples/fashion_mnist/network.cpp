// Closures run on the small stacks of fibers, where Eigen's habit of packing up to 128 KiB of each operand of a product
// on the stack would overflow. This sends all but small packs to the heap, which costs nothing measurable here.
#ifndef EIGEN_STACK_ALLOCATION_LIMIT
#define EIGEN_STACK_ALLOCATION_LIMIT 4096
#endif

#include "fashion_mnist/gpu_network.hpp"
#include "fashion_mnist/network.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/eigen.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace troupe::fashion_mnist {
namespace {

template <class T>
using matrix = row_major_matrix<T>;
template <class T>
using matrix_map = Eigen::Map<const matrix<T>>;

template <class T>
matrix_map<T> view(const matrix<T>& x) {
  return {x.data(), x.rows(), x.cols()};
}

/// The parameters of one layer, as Eigen sees them.
template <class T>
struct dense_layer {
  matrix_map<T> kernel;
  Eigen::Map<const column_vector<T>> bias;
};

template <class T>
std::vector<dense_layer<T>> layers_of(std::span<const tensor> parameters) {
  auto layers = std::vector<dense_layer<T>>{};
  for (std::size_t i = 0; i < parameters.size(); i += 2) {
    layers.push_back({matrix_view<T>(parameters[i]), vector_view<T>(parameters[i + 1])});
  }
  return layers;
}

std::string describe(const tensor& x) {
  return fmt::format("{} {}", to_string(x.get_dtype()), x.get_shape().to_string());
}

void check_parameters(std::span<const tensor> parameters) {
  if (parameters.empty() || parameters.size() % 2 != 0) {
    throw invalid_argument_error(
        fmt::format("{} parameters; expected a kernel and a bias for each layer, in this order", parameters.size()));
  }
  auto type = parameters[0].get_dtype();
  if (type != dtype::float32 && type != dtype::float64) {
    throw invalid_argument_error(fmt::format("parameters of dtype {}; expected float32 or float64", to_string(type)));
  }
  for (std::size_t i = 0; i < parameters.size(); i += 2) {
    const auto& kernel = parameters[i];
    const auto& bias = parameters[i + 1];
    auto layer = i / 2 + 1;
    if (kernel.get_dtype() != type || kernel.get_shape().rank() != 2 || kernel.element_count() == 0) {
      throw invalid_argument_error(fmt::format("dense{}/kernel is {}; expected {} (inputs, units), not empty", layer,
                                               describe(kernel), to_string(type)));
    }
    if (bias.get_dtype() != type || bias.get_shape() != shape{kernel.get_shape()[1]}) {
      throw invalid_argument_error(fmt::format("dense{}/bias is {}; expected {} ({}) to fit the kernel", layer,
                                               describe(bias), to_string(type), kernel.get_shape()[1]));
    }
    if (i > 0 && kernel.get_shape()[0] != parameters[i - 1].get_shape()[0]) {
      throw invalid_argument_error(fmt::format("dense{}/kernel is {}; expected {} rows, the units of the layer before",
                                               layer, describe(kernel), parameters[i - 1].get_shape()[0]));
    }
  }
}

void check_inputs(std::span<const tensor> parameters, const tensor& images, const tensor& labels) {
  check_parameters(parameters);
  const auto& first = parameters.front();
  auto inputs = first.get_shape()[0];
  if (images.get_dtype() != first.get_dtype() || images.get_shape().rank() != 2 || images.get_shape()[0] < 1 ||
      images.get_shape()[1] != inputs) {
    throw invalid_argument_error(fmt::format("images are {}; expected {} (n, {}) with n >= 1", describe(images),
                                             to_string(first.get_dtype()), inputs));
  }
  if (labels.get_dtype() != dtype::uint8 || labels.get_shape() != shape{images.get_shape()[0]}) {
    throw invalid_argument_error(
        fmt::format("labels are {}; expected uint8 ({}), one for each image", describe(labels), images.get_shape()[0]));
  }
  auto classes = parameters.back().get_shape()[0];
  for (auto label : labels.values<std::uint8_t>()) {
    if (label >= classes) {
      throw out_of_range_error(fmt::format("label {}; expected a class from 0 to {}", label, classes - 1));
    }
  }
}

/// What each layer puts out, the last one's logits at the end.
template <class T>
std::vector<matrix<T>> forward(std::span<const dense_layer<T>> layers, matrix_map<T> images) {
  auto outputs = std::vector<matrix<T>>(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [kernel, bias] = layers[i];
    auto& output = outputs[i];
    output = bias.transpose().replicate(images.rows(), 1);
    output.noalias() += (i == 0 ? images : view(outputs[i - 1])) * kernel;
    if (i + 1 < layers.size()) output = output.cwiseMax(T{0});
  }
  return outputs;
}

/// Mean cross entropy of softmax(logits); leaves in `logits` its derivative by them.
template <class T>
double softmax_cross_entropy(matrix<T>& logits, std::span<const std::uint8_t> labels) {
  // Softmax does not change when a row is shifted. With its largest logit at 0, exp neither overflows nor sums to 0.
  logits.colwise() -= logits.rowwise().maxCoeff().eval();
  auto loss = 0.0;
  for (Eigen::Index i = 0; i < logits.rows(); ++i) loss -= logits(i, labels[static_cast<std::size_t>(i)]);
  logits = logits.array().exp();
  Eigen::Array<T, Eigen::Dynamic, 1> sums = logits.rowwise().sum();
  loss += static_cast<double>(sums.log().sum());
  logits.array().colwise() /= sums;
  for (Eigen::Index i = 0; i < logits.rows(); ++i) logits(i, labels[static_cast<std::size_t>(i)]) -= T{1};
  logits /= static_cast<T>(logits.rows());
  return loss / static_cast<double>(logits.rows());
}

template <class T>
step_result step(std::span<const tensor> parameters, const tensor& images, const tensor& labels) {
  auto layers = layers_of<T>(parameters);
  auto inputs = matrix_view<T>(images);
  auto outputs = forward<T>(layers, inputs);
  auto delta = std::move(outputs.back());
  auto result = step_result{};
  result.loss = softmax_cross_entropy(delta, labels.values<std::uint8_t>());
  for (const auto& x : parameters) result.gradients.push_back(tensor::uninitialised(x.get_dtype(), x.get_shape()));
  for (auto i = layers.size(); i-- > 0;) {
    auto below = i == 0 ? inputs : view(outputs[i - 1]);
    mutable_matrix_view<T>(result.gradients[2 * i]).noalias() = below.transpose() * delta;
    mutable_vector_view<T>(result.gradients[2 * i + 1]) = delta.colwise().sum().transpose();
    if (i == 0) break;
    // Through the ReLU: where the unit was off, nothing comes back.
    matrix<T> before = delta * layers[i].kernel.transpose();
    delta = (below.array() > T{0}).select(before, T{0});
  }
  return result;
}

template <class T>
std::int64_t count_correct(std::span<const tensor> parameters, const tensor& images, const tensor& labels) {
  auto layers = layers_of<T>(parameters);
  auto logits = std::move(forward<T>(layers, matrix_view<T>(images)).back());
  auto correct = std::int64_t{0};
  for (Eigen::Index i = 0; i < logits.rows(); ++i) {
    auto best = Eigen::Index{0};
    logits.row(i).maxCoeff(&best);
    if (best == labels.values<std::uint8_t>()[static_cast<std::size_t>(i)]) ++correct;
  }
  return correct;
}

}  // namespace

std::vector<std::string> parameter_names(std::span<const std::int64_t> sizes) {
  auto names = std::vector<std::string>{};
  for (std::size_t layer = 1; layer < sizes.size(); ++layer) {
    names.push_back(fmt::format("dense{}/kernel", layer));
    names.push_back(fmt::format("dense{}/bias", layer));
  }
  return names;
}

std::vector<tensor> initial_parameters(std::uint64_t seed, std::span<const std::int64_t> sizes) {
  if (sizes.size() < 2 || std::ranges::any_of(sizes, [](auto size) { return size < 1; })) {
    throw invalid_argument_error(
        fmt::format("layer sizes ({}); expected at least two, each at least 1", fmt::join(sizes, ", ")));
  }
  // The standard's distributions differ between libraries; the engine does not.
  auto engine = std::mt19937_64{seed};
  auto parameters = std::vector<tensor>{};
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    auto kernel = tensor::uninitialised(dtype::float32, shape{sizes[i], sizes[i + 1]});
    auto limit = std::sqrt(6.0 / static_cast<double>(sizes[i] + sizes[i + 1]));
    for (auto& weight : kernel.mutable_values<float>()) {
      auto uniform = static_cast<double>(engine() >> 11) * 0x1p-53;  // [0, 1)
      weight = static_cast<float>((2 * uniform - 1) * limit);
    }
    parameters.push_back(std::move(kernel));
    parameters.push_back(tensor::zeros(dtype::float32, shape{sizes[i + 1]}));
  }
  return parameters;
}

step_result loss_and_gradients(std::span<const tensor> parameters, const tensor& images, const tensor& labels) {
  const auto host_labels = labels.copy_to("CPU:0");
  check_inputs(parameters, images, host_labels);
  if (images.device().starts_with("GPU"))
    return loss_and_gradients_on_gpu(parameters, images, [&](tensor& logits) {
      matrix<float> rows = matrix_view<float>(logits);
      const auto loss = softmax_cross_entropy(rows, host_labels.values<std::uint8_t>());
      mutable_matrix_view<float>(logits) = rows;
      return loss;
    });
  return parameters[0].get_dtype() == dtype::float32 ? step<float>(parameters, images, host_labels)
                                                     : step<double>(parameters, images, host_labels);
}

double accuracy(std::span<const tensor> parameters, const tensor& images, const tensor& labels) {
  check_inputs(parameters, images, labels);
  auto correct = parameters[0].get_dtype() == dtype::float32 ? count_correct<float>(parameters, images, labels)
                                                             : count_correct<double>(parameters, images, labels);
  return static_cast<double>(correct) / static_cast<double>(images.get_shape()[0]);
}

double accuracy(std::span<const tensor> parameters, const labelled_images& set) {
  constexpr std::int64_t block = 500;
  auto correct = 0.0;
  for (std::int64_t begin = 0; begin < set.size(); begin += block) {
    auto part = batch_of(set, begin, std::min(begin + block, set.size()));
    correct += accuracy(parameters, part.images, part.labels) * static_cast<double>(part.size());
  }
  return correct / static_cast<double>(set.size());
}

}  // namespace troupe::fashion_mnist
