// Rows along axis 0, and concatenation: data moves in runs of bytes, whatever the dtype, except where rows are added.
#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

#include <fmt/format.h>

#include <cstring>

namespace troupe {

namespace {

void copy_bytes(std::byte* target, const std::byte* source, std::size_t size) {
  if (size > 0) std::memcpy(target, source, size);
}

std::int64_t count(const auto& range) { return static_cast<std::int64_t>(range.size()); }

void check_has_rows(std::string_view operation, const tensor& x) {
  if (!x.get_shape().is_scalar()) return;
  throw invalid_argument_error{
      fmt::format("{}: a scalar of shape () has no rows; expected a tensor of rank 1 or more", operation)};
}

void check_indices(std::string_view operation, std::span<const std::int64_t> indices, const shape& extents) {
  for (auto i = std::size_t{0}; i < indices.size(); ++i) {
    if (indices[i] >= 0 && indices[i] < extents[0]) continue;
    throw out_of_range_error{
        fmt::format("{}: index {} at position {} is outside axis 0 of shape {}; expected 0 or more and less than {}",
                    operation, indices[i], i, extents.to_string(), extents[0])};
  }
}

void check_scatter(std::string_view operation, const tensor& target, std::span<const std::int64_t> indices,
                   const tensor& rows) {
  check_has_rows(operation, target);
  const auto expected = target.get_shape().with_axis(0, count(indices));
  if (rows.get_shape() != expected) {
    throw invalid_argument_error{fmt::format(
        "{}: {} indices into shape {} need rows of shape {}, but the rows have shape {}", operation, indices.size(),
        target.get_shape().to_string(), expected.to_string(), rows.get_shape().to_string())};
  }
  if (rows.get_dtype() != target.get_dtype()) {
    throw invalid_argument_error{fmt::format("{}: the target holds {} but the rows {}; cast the rows to {} first",
                                             operation, to_string(target.get_dtype()), to_string(rows.get_dtype()),
                                             to_string(target.get_dtype()))};
  }
  check_indices(operation, indices, target.get_shape());
}

template <class Operation>
void scatter_rows(std::string_view name, row_operation which, tensor& target, std::span<const std::int64_t> indices,
                  const tensor& rows, Operation operation) {
  check_scatter(name, target, indices, rows);
  numeric::check_arithmetic(name, target.get_dtype());
  const auto source = rows;  // if the rows are a part of the target, sharing makes the target move away from them
  if (is_on_gpu(name, {&target, &rows}))
    return accelerator_of(target.device()).scatter_rows(which, target, indices, source);
  const auto row_size = static_cast<std::size_t>(target.get_shape().without_axis(0).element_count());
  numeric::visit_arithmetic(name, target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    const auto targets = target.mutable_values<T>();
    const auto terms = source.values<T>();
    for (auto i = std::size_t{0}; i < indices.size(); ++i) {
      const auto to = targets.subspan(static_cast<std::size_t>(indices[i]) * row_size, row_size);
      const auto from = terms.subspan(i * row_size, row_size);
      for (auto k = std::size_t{0}; k < row_size; ++k) {
        to[k] = numeric::convert<T>(operation(numeric::widen(to[k]), numeric::widen(from[k])));
      }
    }
  });
}

// The shape of the parts joined along `axis`, after checking that they fit together.
shape concatenated_shape(std::span<const tensor> parts, int axis) {
  const auto& first = parts.front();
  auto joined = first.get_shape();
  for (auto i = std::size_t{1}; i < parts.size(); ++i) {
    const auto& part = parts[i];
    const auto fits = part.get_dtype() == first.get_dtype() && part.rank() == first.rank() &&
                      part.get_shape().with_axis(axis, 0) == first.get_shape().with_axis(axis, 0);
    if (!fits) {
      throw invalid_argument_error{
          fmt::format("concatenate: part {} is {} of shape {}, but part 0 is {} of shape {}; expected one dtype and "
                      "equal extents except "
                      "on axis {}",
                      i, to_string(part.get_dtype()), part.get_shape().to_string(), to_string(first.get_dtype()),
                      first.get_shape().to_string(), axis)};
    }
    joined = joined.with_axis(axis, joined[axis] + part.get_shape()[axis]);
  }
  return joined;
}

}  // namespace

tensor gather_rows(const tensor& source, std::span<const std::int64_t> indices) {
  check_has_rows("gather_rows", source);
  check_indices("gather_rows", indices, source.get_shape());
  if (is_on_gpu("gather_rows", {&source})) return accelerator_of(source.device()).gather_rows(source, indices);
  auto result = tensor::uninitialised(source.get_dtype(), source.get_shape().with_axis(0, count(indices)));
  const auto from = source.bytes();
  const auto to = result.mutable_bytes();
  const auto row_bytes = indices.empty() ? 0 : to.size() / indices.size();
  for (auto i = std::size_t{0}; i < indices.size(); ++i) {
    copy_bytes(to.data() + i * row_bytes, from.data() + static_cast<std::size_t>(indices[i]) * row_bytes, row_bytes);
  }
  return result;
}

void scatter_rows_update(tensor& target, std::span<const std::int64_t> indices, const tensor& rows) {
  check_scatter("scatter_rows_update", target, indices, rows);
  const auto source = rows;  // as in scatter_rows NOLINT(performance-unnecessary-copy-initialization)
  if (is_on_gpu("scatter_rows_update", {&target, &rows}))
    return accelerator_of(target.device()).scatter_rows(row_operation::update, target, indices, source);
  const auto from = source.bytes();
  const auto to = target.mutable_bytes();
  const auto row_bytes = indices.empty() ? 0 : from.size() / indices.size();
  for (auto i = std::size_t{0}; i < indices.size(); ++i) {
    copy_bytes(to.data() + static_cast<std::size_t>(indices[i]) * row_bytes, from.data() + i * row_bytes, row_bytes);
  }
}

void scatter_rows_add(tensor& target, std::span<const std::int64_t> indices, const tensor& rows) {
  scatter_rows("scatter_rows_add", row_operation::add, target, indices, rows, numeric::add{});
}

void scatter_rows_subtract(tensor& target, std::span<const std::int64_t> indices, const tensor& rows) {
  scatter_rows("scatter_rows_subtract", row_operation::subtract, target, indices, rows, numeric::subtract{});
}

tensor concatenate(std::span<const tensor> parts, int axis) {
  if (parts.empty()) throw invalid_argument_error{"concatenate: no parts; expected at least one tensor"};
  const auto joined_axis = parts.front().get_shape().normalise_axis(axis);
  const auto joined = concatenated_shape(parts, joined_axis);
  if (parts.size() == 1) return parts.front();
  auto on_gpu = false;
  for (const auto& part : parts) on_gpu = is_on_gpu("concatenate", {&parts.front(), &part});
  auto result = tensor::uninitialised(parts.front().get_dtype(), joined, parts.front().device());
  if (result.element_count() == 0) return result;
  auto outer = std::size_t{1};
  for (auto i = 0; i < joined_axis; ++i) outer *= static_cast<std::size_t>(joined[i]);
  // Each part is `outer` runs of bytes, one for each index combination of the axes before the joined one.
  const auto stride = result.size_bytes() / outer;
  auto* to = result.mutable_data();
  for (const auto& part : parts) {
    const auto run_bytes = part.size_bytes() / outer;
    if (on_gpu) {
      accelerator_of(part.device()).copy_runs(to, stride, part.data(), run_bytes, outer);
    } else {
      for (auto run = std::size_t{0}; run < outer; ++run) {
        copy_bytes(to + run * stride, part.data() + run * run_bytes, run_bytes);
      }
    }
    to += run_bytes;
  }
  return result;
}

}  // namespace troupe
