#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/matmul.hpp>
#include <troupe/device/tensor/eigen.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace troupe {

namespace {

struct matrix_extents {
  std::int64_t rows;
  std::int64_t columns;
};

matrix_extents extents_of(std::string_view name, const tensor& x, bool transposed) {
  if (x.get_dtype() != dtype::float32 || x.rank() != 2) {
    throw invalid_argument_error{
        fmt::format("matmul: {} is {} of shape {}; expected a float32 matrix: cast or reshape it", name,
                    to_string(x.get_dtype()), x.get_shape().to_string())};
  }
  const auto rows = x.get_shape()[0];
  const auto columns = x.get_shape()[1];
  if (std::max(rows, columns) > std::numeric_limits<int>::max()) {
    throw invalid_argument_error{
        fmt::format("matmul: {} has shape {}; expected extents below 2^31: split it", name, x.get_shape().to_string())};
  }
  return transposed ? matrix_extents{columns, rows} : matrix_extents{rows, columns};
}

/// A copy: each pair of views would be another product to compile.
row_major_matrix<float> matrix_of(const tensor& x, bool transposed) {
  if (transposed) return matrix_view<float>(x).transpose();
  return matrix_view<float>(x);
}

tensor matmul_on_host(const tensor& a, const tensor& b, transposition transposed, const shape& extents) {
  auto result = tensor::uninitialised(dtype::float32, extents);
  mutable_matrix_view<float>(result).noalias() = matrix_of(a, transposed.of_a) * matrix_of(b, transposed.of_b);
  return result;
}

}  // namespace

tensor matmul(const tensor& a, const tensor& b, transposition transposed) {
  const auto left = extents_of("a", a, transposed.of_a);
  const auto right = extents_of("b", b, transposed.of_b);
  if (left.columns != right.rows) {
    throw invalid_argument_error{
        fmt::format("matmul: a of shape {}{} and b of shape {}{} do not fit: {} columns meet {} rows",
                    a.get_shape().to_string(), transposed.of_a ? " (transposed)" : "", b.get_shape().to_string(),
                    transposed.of_b ? " (transposed)" : "", left.columns, right.rows)};
  }
  const auto on_gpu = is_on_gpu("matmul", {&a, &b});
  const shape extents{left.rows, right.columns};
  if (extents.element_count() == 0 || left.columns == 0) return tensor::zeros(dtype::float32, extents, a.device());
  if (on_gpu) return accelerator_of(a.device()).matmul(a, b, transposed);
  return matmul_on_host(a, b, transposed, extents);
}

}  // namespace troupe
