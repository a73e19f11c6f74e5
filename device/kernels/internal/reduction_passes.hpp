// How a reduction along axes is cut into passes. Private to the reductions.
//
// Neighbouring reduced axes are one: seen from there, a tensor has the extents (outer, extent, inner), and a pass turns
// it into (outer, inner). Passes run from the last axes to the first.
#pragma once

#include <troupe/device/base/shape.hpp>

#include <cstddef>
#include <vector>

namespace troupe {

struct reduction_pass {
  std::size_t outer;
  std::size_t extent;
  std::size_t inner;
};

/// One flag per axis, as reduction_axes::resolve gives them. No passes if no axis is reduced.
std::vector<reduction_pass> plan_passes(const shape& extents, const std::vector<bool>& reduced);

/// How many elements become one.
double reduced_count(const shape& extents, const std::vector<bool>& reduced);

/// The axes that are not reduced.
shape reduced_shape(const shape& extents, const std::vector<bool>& reduced);

}  // namespace troupe
