#include <troupe/device/base/error.hpp>
#include <troupe/runtime/datasets/structure_rows.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::detail {

namespace {

std::string describe(const tensor& x) {
  return fmt::format("{} of shape {}", to_string(x.get_dtype()), x.get_shape().to_string());
}

shape with_leading_axis(std::size_t extent, const shape& others) {
  auto all = std::vector<std::int64_t>{static_cast<std::int64_t>(extent)};
  all.insert(all.end(), others.begin(), others.end());
  return shape{all};
}

}  // namespace

void common_row_count::visit(const tensor& leaf, const structure_path& path) {
  if (leaf.rank() == 0) {
    throw invalid_argument_error{
        fmt::format("tensor{} is a scalar of shape () and has no rows; expected a batch of rank 1 or more: batch the "
                    "elements first",
                    path.to_string())};
  }
  const auto rows = leaf.get_shape()[0];
  if (!rows_) {
    rows_ = rows;
    first_ = fmt::format("tensor{} has shape {}", path.to_string(), leaf.get_shape().to_string());
  } else if (*rows_ != rows) {
    throw invalid_argument_error{
        fmt::format("{}, but tensor{} has shape {}; all tensors of a batch must have the same "
                    "extent of axis 0",
                    first_, path.to_string(), leaf.get_shape().to_string())};
  }
}

std::int64_t common_row_count::get() const {
  if (rows_) return *rows_;
  throw invalid_argument_error{"the structure holds no tensor, so it has no rows; expected at least one tensor"};
}

tensor stack_tensors(std::span<const tensor* const> tensors, const structure_path& path) {
  const auto& first = *tensors[0];
  auto result = tensor::uninitialised(first.get_dtype(), with_leading_axis(tensors.size(), first.get_shape()));
  auto* target = result.mutable_bytes().data();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& each = *tensors[i];
    if (each.get_dtype() != first.get_dtype() || each.get_shape() != first.get_shape()) {
      throw invalid_argument_error{
          fmt::format("element {}{} is {}, but element 0{} is {}; elements of a batch must have one dtype and shape", i,
                      path.to_string(), describe(each), path.to_string(), describe(first))};
    }
    // Between pointers this is a memmove; std::ranges::copy from a span is a loop over bytes here (libstdc++ 12).
    target = std::copy_n(each.bytes().data(), each.size_bytes(), target);
  }
  return result;
}

}  // namespace troupe::detail
