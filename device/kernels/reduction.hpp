// Reductions of a tensor along axes. Reductions over replicas are built on these and on elementwise.hpp.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// Which axes a reduction removes. Negative axes count from the end; an empty list reduces nothing.
class reduction_axes {
 public:
  reduction_axes(int axis) : axes_(std::vector{axis}) {}
  reduction_axes(std::initializer_list<int> axes) : axes_(axes) {}
  reduction_axes(std::vector<int> axes) : axes_(std::move(axes)) {}
  /// Every axis: the result is a scalar.
  static reduction_axes all() { return reduction_axes{std::nullopt}; }

  /// For each axis of `extents`, whether it is reduced. Throws out_of_range_error for an axis that does not exist and
  /// invalid_argument_error for one that is named twice.
  std::vector<bool> resolve(const shape& extents) const;

 private:
  explicit reduction_axes(std::nullopt_t) {}

  std::optional<std::vector<int>> axes_;  // nullopt: all
};

// The reduced axes are gone from the result's shape. The order of additions depends on the shape only, so equal inputs
// give equal bits on one kind of device. All throw invalid_argument_error for boolean tensors. A tensor on a GPU gives
// a result there; for a minimum or maximum, the host finds it.

/// Sum in the tensor's dtype: floats are accumulated in double and rounded once, integers wrap around.
tensor reduce_sum(const tensor& x, const reduction_axes& axes = reduction_axes::all());
/// True division: integers give float32, floats their own dtype. Of no elements: NaN.
tensor reduce_mean(const tensor& x, const reduction_axes& axes = reduction_axes::all());
/// NaN if an element is NaN. Throws invalid_argument_error if there are no elements to choose from.
tensor reduce_min(const tensor& x, const reduction_axes& axes = reduction_axes::all());
/// The same for the largest element.
tensor reduce_max(const tensor& x, const reduction_axes& axes = reduction_axes::all());

}  // namespace troupe
