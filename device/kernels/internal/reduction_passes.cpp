#include <troupe/device/kernels/internal/reduction_passes.hpp>

#include <functional>
#include <numeric>

namespace troupe {

namespace {

std::size_t product(const std::int64_t* begin, const std::int64_t* end) {
  return static_cast<std::size_t>(std::accumulate(begin, end, std::int64_t{1}, std::multiplies{}));
}

}  // namespace

std::vector<reduction_pass> plan_passes(const shape& extents, const std::vector<bool>& reduced) {
  const auto is_reduced = [&](int axis) { return reduced[static_cast<std::size_t>(axis)]; };
  std::vector<reduction_pass> passes;
  auto inner = std::size_t{1};
  for (auto last = extents.rank() - 1; last >= 0; --last) {
    if (!is_reduced(last)) {
      inner *= product(extents.begin() + last, extents.begin() + last + 1);
      continue;
    }
    auto first = last;
    while (first > 0 && is_reduced(first - 1)) --first;
    passes.push_back({product(extents.begin(), extents.begin() + first),
                      product(extents.begin() + first, extents.begin() + last + 1), inner});
    last = first;
  }
  return passes;
}

double reduced_count(const shape& extents, const std::vector<bool>& reduced) {
  auto count = 1.0;
  for (auto axis = std::size_t{0}; axis < reduced.size(); ++axis) {
    if (reduced[axis]) count *= static_cast<double>(extents.begin()[axis]);
  }
  return count;
}

shape reduced_shape(const shape& extents, const std::vector<bool>& reduced) {
  std::vector<std::int64_t> kept;
  for (auto axis = std::size_t{0}; axis < reduced.size(); ++axis) {
    if (!reduced[axis]) kept.push_back(extents.begin()[axis]);
  }
  return shape{kept};
}

}  // namespace troupe
