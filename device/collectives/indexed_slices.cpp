#include <troupe/device/collectives/gather.hpp>
#include <troupe/device/collectives/indexed_slices.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

using std::chrono::nanoseconds;

void check_operation(reduce_op op, dtype type) {
  if (op != reduce_op::sum && op != reduce_op::mean) {
    throw invalid_argument_error{fmt::format(
        "indexed_slices: {} is impossible without the rows that are not there; expected sum or mean, or densify first",
        to_string(op))};
  }
  collective{collective_kind::all_reduce, op, type}.check();
}

struct dense_form {
  dtype type;
  shape extents;
  bool operator==(const dense_form&) const = default;
  std::string describe() const {
    return fmt::format("{} slices of a tensor of shape {}", to_string(type), extents.to_string());
  }
};

void check_equal(std::string_view whose, std::size_t index, const dense_form& first, const dense_form& other) {
  if (other == first) return;
  throw invalid_argument_error{
      fmt::format("indexed_slices: {} 0 has {}, but {} {} has {}; expected one dtype and one dense shape", whose,
                  first.describe(), whose, index, other.describe())};
}

/// The form that parts have in common when their rows come one after another.
dense_form row_form(dtype type, const shape& extents) { return {type, extents.with_axis(0, 0)}; }

/// Indices of rows that come to lie behind `rows_before` others.
tensor shifted(const tensor& indices, std::int64_t rows_before) {
  if (rows_before == 0) return indices;
  auto result = indices.copy_to("CPU:0");
  for (auto& each : result.mutable_values<std::int64_t>()) each += rows_before;
  return result.copy_to(indices.device());
}

/// All ranks' values and indices, in the order of ranks; `all` says how many each has.
indexed_slices gather_slices(communicator& ranks, const indexed_slices& x, std::span<const outline> all,
                             communicator::clock::time_point start, nanoseconds limit) {
  std::vector<std::int64_t> rows;
  rows.reserve(all.size());
  for (const auto& each : all) rows.push_back(each.number);
  return {gather_rows_of_ranks(ranks, x.values, rows, time_left(ranks, start, limit)),
          gather_rows_of_ranks(ranks, x.indices, rows, time_left(ranks, start, limit)), x.dense_shape};
}

}  // namespace

void indexed_slices::check() const {
  const auto fits = dense_shape.rank() > 0 && indices.get_dtype() == dtype::int64 && indices.rank() == 1 &&
                    values.get_shape() == dense_shape.with_axis(0, indices.element_count());
  if (fits) return;
  throw invalid_argument_error{fmt::format(
      "indexed_slices: {} values of shape {} with {} indices of shape {} are no slices of a tensor of shape "
      "{}; expected int64 indices of rank 1, and for each of them one row of values",
      to_string(values.get_dtype()), values.get_shape().to_string(), to_string(indices.get_dtype()),
      indices.get_shape().to_string(), dense_shape.to_string())};
}

tensor densify(const indexed_slices& x) {
  x.check();
  const auto type = x.values.get_dtype();
  auto dense = tensor::zeros(sum_dtype(type), x.dense_shape, x.values.device());
  const auto indices = x.indices.copy_to("CPU:0");
  scatter_rows_add(dense, indices.values<std::int64_t>(), cast(x.values, sum_dtype(type)));
  return cast(dense, type);
}

indexed_slices reduce(std::span<const indexed_slices> parts, reduce_op op) {
  if (parts.empty()) throw invalid_argument_error{"indexed_slices: nothing to reduce; expected at least one part"};
  const auto& first = parts.front();
  check_operation(op, first.values.get_dtype());
  std::vector<tensor> values, indices;
  for (const auto& part : parts) {
    part.check();
    check_equal("part", values.size(), {first.values.get_dtype(), first.dense_shape},
                {part.values.get_dtype(), part.dense_shape});
    values.push_back(part.values);
    indices.push_back(part.indices);
  }
  indexed_slices result{concatenate(values, 0), concatenate(indices, 0), first.dense_shape};
  if (op == reduce_op::mean) divide_in_place(result.values, static_cast<double>(parts.size()));
  return result;
}

indexed_slices all_reduce(communicator& ranks, const indexed_slices& x, reduce_op op, nanoseconds limit) {
  const auto start = ranks.now();
  x.check();
  check_operation(op, x.values.get_dtype());
  const auto all = exchange_outlines(ranks, {x.values.get_dtype(), x.dense_shape, x.indices.element_count()}, limit);
  for (auto rank = std::size_t{1}; rank < all.size(); ++rank)
    check_equal("rank", rank, {all[0].type, all[0].extents}, {all[rank].type, all[rank].extents});
  auto result = gather_slices(ranks, x, all, start, limit);
  if (op == reduce_op::mean) divide_in_place(result.values, static_cast<double>(all.size()));
  return result;
}

indexed_slices concatenate_rows(std::span<const indexed_slices> parts) {
  if (parts.empty()) throw invalid_argument_error{"indexed_slices: nothing to gather; expected at least one part"};
  for (const auto& part : parts) part.check();
  const auto form = [](const indexed_slices& x) { return row_form(x.values.get_dtype(), x.dense_shape); };
  std::vector<tensor> values, indices;
  auto rows = std::int64_t{0};
  for (const auto& part : parts) {
    check_equal("part", values.size(), form(parts.front()), form(part));
    values.push_back(part.values);
    indices.push_back(shifted(part.indices, rows));
    rows += part.dense_shape[0];
  }
  return {concatenate(values, 0), concatenate(indices, 0), parts.front().dense_shape.with_axis(0, rows)};
}

indexed_slices all_gather(communicator& ranks, const indexed_slices& x, nanoseconds limit) {
  const auto start = ranks.now();
  x.check();
  const auto all = exchange_outlines(ranks, {x.values.get_dtype(), x.dense_shape, x.indices.element_count()}, limit);
  auto rows = std::int64_t{0};
  auto rows_before = std::int64_t{0};
  for (auto rank = std::size_t{0}; rank < all.size(); ++rank) {
    if (rank == static_cast<std::size_t>(ranks.rank())) rows_before = rows;
    check_equal("rank", rank, row_form(all[0].type, all[0].extents), row_form(all[rank].type, all[rank].extents));
    rows += all[rank].extents[0];
  }
  const indexed_slices mine{x.values, shifted(x.indices, rows_before), x.dense_shape.with_axis(0, rows)};
  return gather_slices(ranks, mine, all, start, limit);
}

}  // namespace troupe
