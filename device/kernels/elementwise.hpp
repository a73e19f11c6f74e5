// Arithmetic on tensors, as far as variables, aggregation and data feeding need it.
//
// Rules for all functions here: operands are on one device, where the result is too (failed_precondition_error
// otherwise), and of one dtype. Boolean tensors have no arithmetic; integers wrap around; float16 and bfloat16 compute
// in float. Everything is checked before anything is written, so a target is unchanged after an error. Targets are
// copy-on-write, as in tensor::mutable_values.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>
#include <span>

namespace troupe {

// -- target op= x, element by element. The shapes are equal, or x is a scalar of shape (). Different shapes or dtypes
//    throw invalid_argument_error that names both.

void add_in_place(tensor& target, const tensor& x);
void subtract_in_place(tensor& target, const tensor& x);
void multiply_in_place(tensor& target, const tensor& x);
/// Integers truncate towards zero; an integer division by zero throws invalid_argument_error that names the element.
/// Integers on a GPU are divided by the host, which takes three copies.
void divide_in_place(tensor& target, const tensor& x);
/// NaN if either is NaN.
void minimum_in_place(tensor& target, const tensor& x);
/// NaN if either is NaN.
void maximum_in_place(tensor& target, const tensor& x);

/// target *= factor, with the factor rounded to the target's floating type. Integers are multiplied in double,
/// truncated towards zero and saturated.
void scale_in_place(tensor& target, double factor);
/// target /= divisor for floating dtypes, which rounds once; the half types divide in float.
void divide_in_place(tensor& target, double divisor);
/// In which dtype many values of this one are added up, to be rounded to it once: float32 for the half types, else the
/// dtype itself.
dtype sum_dtype(dtype type);
/// target += factor * x, for floating dtypes and equal shapes.
void axpy_in_place(tensor& target, double factor, const tensor& x);
/// Every element becomes `value`, converted as cast() does. Never copies the old elements.
void fill(tensor& target, double value);

/// The same elements in another dtype; the same tensor if the dtype is the same. To integers: truncates towards zero,
/// saturates, NaN becomes 0; integers to integers wrap around; to boolean: true unless zero.
tensor cast(const tensor& x, dtype type);

// -- rows along axis 0. An index outside 0..extent-1 throws out_of_range_error that names index,
// position and extent.

/// Row indices[i] of source as row i of the result; an index may repeat. Works for every dtype.
tensor gather_rows(const tensor& source, std::span<const std::int64_t> indices);
/// Row indices[i] of target becomes row i of rows; of equal indices the last wins. Works for every dtype.
void scatter_rows_update(tensor& target, std::span<const std::int64_t> indices, const tensor& rows);
/// Adds row i of rows to row indices[i] of target; equal indices accumulate.
void scatter_rows_add(tensor& target, std::span<const std::int64_t> indices, const tensor& rows);
/// The same with subtraction.
void scatter_rows_subtract(tensor& target, std::span<const std::int64_t> indices, const tensor& rows);

/// The parts one after another along an axis (negative: from the end). They agree in dtype, rank and all other extents,
/// else invalid_argument_error names the part. A single part is returned as it is.
tensor concatenate(std::span<const tensor> parts, int axis);

}  // namespace troupe
