#include <troupe/device/collectives/gather.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace troupe {

namespace {

using std::chrono::nanoseconds;

// dtype, number, rank, extents and zeros up to the largest rank.
constexpr auto extents_begin = std::size_t{3};
constexpr auto outline_size = extents_begin + shape::rank_max;

outline outline_of(std::span<const std::int64_t> numbers) {
  const auto rank = static_cast<std::size_t>(numbers[2]);
  return {static_cast<dtype>(numbers[0]), shape{numbers.subspan(extents_begin, rank)}, numbers[1]};
}

// Here the number is the axis.
void check_fit_on_axis(std::span<const outline> all) {
  const auto describe = [](const outline& x) {
    return fmt::format("{} of shape {} along axis {}", to_string(x.type), x.extents.to_string(), x.number);
  };
  const auto& first = all.front();
  const auto axis = static_cast<int>(first.number);
  for (auto rank = std::size_t{1}; rank < all.size(); ++rank) {
    const auto& other = all[rank];
    const auto fits = other.type == first.type && other.number == first.number &&
                      other.extents.rank() == first.extents.rank() &&
                      other.extents.with_axis(axis, 0) == first.extents.with_axis(axis, 0);
    if (fits) continue;
    throw invalid_argument_error{
        fmt::format("gather: rank 0 passed {}, but rank {} {}; expected one dtype, one axis, and equal extents except "
                    "on that axis",
                    describe(first), rank, describe(other))};
  }
}

// Every rank's tensor; each rank knows all shapes. Elements travel in one row, so that padding is a matter of its end,
// whatever the axis.
std::vector<tensor> gather_parts(communicator& ranks, const tensor& x, std::span<const shape> shapes,
                                 nanoseconds limit) {
  auto padded = std::int64_t{0};
  for (const auto& each : shapes) padded = std::max(padded, each.element_count());
  auto row = x.reshape({x.element_count()});
  if (const auto padding = padded - x.element_count(); padding > 0) {
    row = concatenate(std::vector{row, tensor::zeros(x.get_dtype(), {padding}, ranks.device())}, 0);
  }
  const auto all = ranks.all_gather(row, limit);
  std::vector<tensor> parts;
  parts.reserve(shapes.size());
  for (auto begin = std::int64_t{0}; const auto& each : shapes) {
    parts.push_back(all.slice(begin, begin + each.element_count()).reshape(each));
    begin += padded;
  }
  return parts;
}

}  // namespace

tensor gather_uneven(communicator& ranks, const tensor& x, int axis, nanoseconds limit) {
  const auto start = ranks.now();
  const auto joined_axis = x.get_shape().normalise_axis(axis);
  const auto all = exchange_outlines(ranks, {x.get_dtype(), x.get_shape(), joined_axis}, limit);
  check_fit_on_axis(all);
  if (joined_axis == 0) {
    std::vector<std::int64_t> rows;
    rows.reserve(all.size());
    for (const auto& each : all) rows.push_back(each.extents[0]);
    return gather_rows_of_ranks(ranks, x, rows, time_left(ranks, start, limit));
  }
  std::vector<shape> shapes;
  shapes.reserve(all.size());
  for (const auto& each : all) shapes.push_back(each.extents);
  return concatenate(gather_parts(ranks, x, shapes, time_left(ranks, start, limit)), joined_axis);
}

tensor gather_rows_of_ranks(communicator& ranks, const tensor& x, std::span<const std::int64_t> rows,
                            nanoseconds limit) {
  const auto even = std::ranges::all_of(rows, [&](std::int64_t each) { return each == rows.front(); });
  if (even) return ranks.all_gather(x, limit);
  std::vector<shape> shapes;
  for (const auto each : rows) shapes.push_back(x.get_shape().with_axis(0, each));
  return concatenate(gather_parts(ranks, x, shapes, limit), 0);
}

std::vector<outline> exchange_outlines(communicator& ranks, const outline& mine, nanoseconds limit) {
  auto message = tensor::zeros(dtype::int64, {outline_size});
  const auto numbers = message.mutable_values<std::int64_t>();
  numbers[0] = static_cast<std::int64_t>(mine.type);
  numbers[1] = mine.number;
  numbers[2] = mine.extents.rank();
  std::ranges::copy(mine.extents, numbers.begin() + extents_begin);
  const auto all = ranks.all_gather(message.copy_to(ranks.device()), limit).copy_to("CPU:0");
  std::vector<outline> outlines;
  for (auto rank = std::size_t{0}; rank < static_cast<std::size_t>(ranks.size()); ++rank) {
    outlines.push_back(outline_of(all.values<std::int64_t>().subspan(rank * outline_size, outline_size)));
  }
  return outlines;
}

nanoseconds time_left(const communicator& ranks, communicator::clock::time_point start, nanoseconds limit) {
  return std::max<nanoseconds>(limit - (ranks.now() - start), nanoseconds{1});
}

}  // namespace troupe
