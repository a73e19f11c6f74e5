// Tensors as Eigen matrices and vectors, without copying. Include this where models compute; nothing else in troupe
// does, so that only they pay for Eigen's headers.
//
// A view points into the tensor: it is valid until the tensor is written, assigned or destroyed, and for views of a
// temporary that is the end of the statement.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <Eigen/Core>
#include <fmt/format.h>

#include <type_traits>

namespace troupe {

/// Element types that Eigen computes with.
template <class T>
concept eigen_scalar = tensor_element<T> && std::is_arithmetic_v<T>;

template <eigen_scalar T>
using row_major_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <eigen_scalar T>
using column_vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

namespace detail {

inline void check_view_rank(const tensor& viewed, int expected) {
  if (viewed.rank() == expected) return;
  throw invalid_argument_error{
      fmt::format("an Eigen {} needs a tensor of rank {}, but this one has shape {}; reshape it first",
                  expected == 2 ? "matrix" : "vector", expected, viewed.get_shape().to_string())};
}

}  // namespace detail

/// A rank-2 tensor as a matrix of shape[0] rows and shape[1] columns. Throws invalid_argument_error for another rank or
/// another element type, failed_precondition_error if the elements are not on the host.
template <eigen_scalar T>
Eigen::Map<const row_major_matrix<T>> matrix_view(const tensor& x) {
  detail::check_view_rank(x, 2);
  return {x.values<T>().data(), x.get_shape()[0], x.get_shape()[1]};
}

/// The same for writing; copies the elements first if they are shared.
template <eigen_scalar T>
Eigen::Map<row_major_matrix<T>> mutable_matrix_view(tensor& x) {
  detail::check_view_rank(x, 2);
  return {x.mutable_values<T>().data(), x.get_shape()[0], x.get_shape()[1]};
}

/// A rank-1 tensor as a column vector. Errors as for matrix_view.
template <eigen_scalar T>
Eigen::Map<const column_vector<T>> vector_view(const tensor& x) {
  detail::check_view_rank(x, 1);
  return {x.values<T>().data(), x.get_shape()[0]};
}

/// The same for writing; copies the elements first if they are shared.
template <eigen_scalar T>
Eigen::Map<column_vector<T>> mutable_vector_view(tensor& x) {
  detail::check_view_rank(x, 1);
  return {x.mutable_values<T>().data(), x.get_shape()[0]};
}

}  // namespace troupe
