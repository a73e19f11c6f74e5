// The network's forward and backward pass on a GPU, real or emulated: products and sums are troupe's, the rest are
// kernels of its own, of two lines.
//
// Only the last layer's few logits visit the host, where their loss is computed as for the CPU.
#pragma once

#include "fashion_mnist/network.hpp"

#include <troupe/device/tensor/tensor.hpp>

#include <functional>
#include <span>

namespace troupe::fashion_mnist {

/// Turns logits (n, classes) on the host into the derivative of the loss by them, and returns the loss.
using loss_function = std::function<double(tensor& logits)>;

/// As loss_and_gradients, for float32 parameters and images on one GPU; the gradients are there, too.
step_result loss_and_gradients_on_gpu(std::span<const tensor> parameters, const tensor& images,
                                      const loss_function& loss);

}  // namespace troupe::fashion_mnist
