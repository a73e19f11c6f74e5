// Products of matrices on a GPU, by cuBLAS.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

namespace troupe::cuda {

/// Which operands of a product are transposed before it.
struct transposition {
  bool of_a = false;
  bool of_b = false;
};

/// The product of two float32 matrices on one GPU, in full float32 precision; queued like everything else on the GPU.
/// Throws invalid_argument_error for other dtypes or ranks and for extents that do not fit, failed_precondition_error
/// if they are not on one GPU, and as cuda_device.hpp says.
tensor matmul(const tensor& a, const tensor& b, transposition transposed = {});

}  // namespace troupe::cuda
