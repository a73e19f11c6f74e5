#include <troupe/device/base/error.hpp>
#include <troupe/device/base/shape.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace troupe {

namespace {

std::string render(std::span<const std::int64_t> extents) {
  return extents.size() == 1 ? fmt::format("({},)", extents[0]) : fmt::format("({})", fmt::join(extents, ", "));
}

}  // namespace

void shape::check_rank(std::size_t rank) {
  if (rank <= rank_max) return;
  throw invalid_argument_error{fmt::format(
      "a shape of rank {} is too large; expected at most {} axes: merge axes with reshape", rank, rank_max)};
}

shape::shape(std::span<const std::int64_t> extents) {
  check_rank(extents.size());
  auto product = std::int64_t{1};
  for (const auto extent : extents) {
    if (extent < 0) {
      throw invalid_argument_error{
          fmt::format("shape {} has the negative extent {}; expected 0 or more", render(extents), extent)};
    }
    if (extent == 0) continue;
    if (extent > element_count_max / product) {
      throw invalid_argument_error{
          fmt::format("shape {} has too many elements; expected at most 2^60 (product of the "
                      "extents that are not zero)",
                      render(extents))};
    }
    product *= extent;
  }
  std::copy(extents.begin(), extents.end(), extents_.begin());
  rank_ = static_cast<std::uint8_t>(extents.size());
}

std::int64_t shape::element_count() const noexcept {
  return std::accumulate(begin(), end(), std::int64_t{1}, std::multiplies{});
}

shape shape::with_axis(int axis, std::int64_t extent) const {
  auto extents = extents_;
  extents[static_cast<std::size_t>(normalise_axis(axis))] = extent;
  return shape(std::span<const std::int64_t>{extents.data(), rank_});
}

shape shape::without_axis(int axis) const {
  const auto dropped = begin() + normalise_axis(axis);
  std::array<std::int64_t, rank_max> extents{};
  std::copy(dropped + 1, end(), std::copy(begin(), dropped, extents.begin()));
  return shape(std::span<const std::int64_t>{extents.data(), std::size_t{rank_} - 1});
}

int shape::normalise_negative_axis(int axis) const {
  if (axis < 0 && axis >= -int{rank_}) return axis + rank_;
  if (rank_ == 0) {
    throw out_of_range_error{fmt::format("axis {} does not exist: shape () is a scalar and has no axes", axis)};
  }
  throw out_of_range_error{
      fmt::format("axis {} does not exist in shape {}; expected {} to {}", axis, to_string(), -int{rank_}, rank_ - 1)};
}

std::string shape::to_string() const { return render({begin(), end()}); }

}  // namespace troupe
