// What GPUs do instead of the host's loops. Private to the operations on tensors.
//
// Each function has the meaning of its namesake in elementwise.hpp, reduction.hpp or optimizer_kernels.hpp, which
// checks the operands (dtypes, shapes, all on one GPU) and calls the one here. They compute with the same code as the
// host (numeric.hpp) and without fused multiply-adds, so that the results are equal bit for bit, except for which NaN a
// NaN is, and for sums, whose order of additions differs. They queue work on the device's stream and return.
#pragma once

#include <troupe/device/accelerators/accelerator.hpp>
#include <troupe/device/kernels/internal/reduction_passes.hpp>
#include <troupe/device/kernels/matmul.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <span>

namespace troupe::cuda {

/// Operation is one of numeric.hpp: add, subtract, multiply, minimum, maximum, and divide, but for integers.
template <class Operation>
void combine_in_place(tensor& target, const tensor& x);

void scale_in_place(tensor& target, double factor);
void axpy_in_place(tensor& target, double factor, const tensor& x);
/// The target is not shared.
void fill(tensor& target, double value);
tensor cast(const tensor& x, dtype type);

tensor reduce_sum(const tensor& x, std::span<const reduction_pass> passes, const shape& result);
/// `count` elements of x become one of the result.
tensor reduce_mean(const tensor& x, std::span<const reduction_pass> passes, const shape& result, double count);

void sgd_update(tensor& variable, const tensor& gradient, double learning_rate);
void momentum_update(tensor& variable, tensor& velocity, const tensor& gradient, double learning_rate, double momentum,
                     bool nesterov);
void adagrad_update(tensor& variable, tensor& accumulator, const tensor& gradient, double learning_rate,
                    double epsilon);
/// `rate` is the learning rate after the bias correction of the step.
void adam_update(tensor& variable, tensor& m, tensor& v, const tensor& gradient, double rate, double beta1,
                 double beta2, double epsilon);

/// Indices are rows of the tensor.
tensor gather_rows(const tensor& source, std::span<const std::int64_t> indices);
void scatter_rows(row_operation operation, tensor& target, std::span<const std::int64_t> indices, const tensor& rows);

/// By cuBLAS. No extent is 0.
tensor matmul(const tensor& a, const tensor& b, transposition transposed);

}  // namespace troupe::cuda
