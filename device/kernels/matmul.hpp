// Products of matrices: by cuBLAS on a GPU, by Eigen on the host.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

namespace troupe {

/// Which operands of a product are transposed before it.
struct transposition {
  bool of_a = false;
  bool of_b = false;
};

/// The product of two float32 matrices, where they are, in full float32 precision; on a GPU it is queued like
/// everything else. Throws invalid_argument_error for other dtypes or ranks and for extents that do not fit,
/// failed_precondition_error if they are on different devices, and as accelerators.hpp says.
tensor matmul(const tensor& a, const tensor& b, transposition transposed = {});

}  // namespace troupe
