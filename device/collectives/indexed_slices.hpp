// Sparse gradients: some rows of a large tensor, as an embedding's gradient is.
//
// A row may occur several times, and then counts as the sum of its occurrences: so the sum of sparse tensors is their
// concatenation, and nothing has to be matched until somebody densifies. Semantics:
// examples/reference/semantics.md 3.2.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <chrono>
#include <span>

namespace troupe {

/// Row values[i] belongs to row indices[i] of a tensor of shape dense_shape; all other rows are zero.
struct indexed_slices {
  tensor values;
  /// int64, rank 1: one index for each row of values.
  tensor indices;
  shape dense_shape;

  /// Throws invalid_argument_error unless indices, values and dense shape fit together. Does not look at the indices.
  void check() const;
};

/// Equal indices accumulate. Throws as check(), and out_of_range_error for an index outside the dense shape.
tensor densify(const indexed_slices& x);

/// The reduction of several replicas' slices on one device: concatenated, in order; a mean divides the values by the
/// number of parts. Throws invalid_argument_error for other operations, for no parts, and for parts of different dtypes
/// or dense shapes.
indexed_slices reduce(std::span<const indexed_slices> parts, reduce_op op);

/// The same over ranks, whose slices may be of different lengths. The limit covers all that is needed. Throws
/// invalid_argument_error, on all ranks, when dtypes or dense shapes differ; the group stays usable.
indexed_slices all_reduce(communicator& ranks, const indexed_slices& x, reduce_op op, std::chrono::nanoseconds limit);

/// The dense tensors one after another along axis 0: the rows of part i lie behind all rows of the parts before it.
/// Throws invalid_argument_error for no parts, and for parts whose dtypes differ, or dense shapes on another axis.
indexed_slices concatenate_rows(std::span<const indexed_slices> parts);

/// The same over ranks. The limit covers all that is needed. Throws invalid_argument_error, on all ranks, when dtypes
/// or rows differ; the group stays usable.
indexed_slices all_gather(communicator& ranks, const indexed_slices& x, std::chrono::nanoseconds limit);

}  // namespace troupe
