// The network's kernels of CUDA, as custom_kernel::on_cuda. Without a CUDA toolkit there are none, and the network runs
// on emulated GPUs only.
#pragma once

#include <troupe/device/kernels/custom_kernel.hpp>

namespace troupe::fashion_mnist {

using cuda_function = decltype(custom_kernel::on_cuda);

/// Target: outputs (n, units); input: the bias (units).
cuda_function add_bias_on_cuda(bool has_relu);
/// Target: delta; input: the outputs of the same layer.
cuda_function stop_where_off_on_cuda();

}  // namespace troupe::fashion_mnist
