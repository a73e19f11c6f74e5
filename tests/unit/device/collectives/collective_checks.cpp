#include "collective_checks.hpp"

#include <troupe/device/base/internal/numeric.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <random>
#include <string>

namespace troupe {

namespace {

using numeric::convert;
using numeric::widen;

constexpr std::array operations{reduce_op::sum, reduce_op::mean, reduce_op::min, reduce_op::max, reduce_op::product};
constexpr std::array dtypes{dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8,
                            dtype::int16,   dtype::int32,   dtype::int64,   dtype::uint8,    dtype::boolean};

/// What element `i` of rank `rank` is. Small integers, so that every order of operations gives the same.
int element_of(int rank, std::int64_t i) { return static_cast<int>((i * 7 + rank * 5) % 3) + 1; }

template <tensor_element T>
tensor elements_of(int rank, std::int64_t count) {
  tensor x = tensor::uninitialised(dtype_of<T>, shape{count});
  const auto values = x.mutable_values<T>();
  for (auto i = std::int64_t{0}; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = convert<T>(element_of(rank, i) - (dtype_of<T> == dtype::boolean ? 1 : 0));
  }
  return x;
}

double expected(reduce_op op, int ranks, std::int64_t i) {
  double result = element_of(0, i);
  for (auto rank = 1; rank < ranks; ++rank) {
    const double next = element_of(rank, i);
    switch (op) {
      case reduce_op::sum:
      case reduce_op::mean:
        result += next;
        break;
      case reduce_op::min:
        result = std::min(result, next);
        break;
      case reduce_op::max:
        result = std::max(result, next);
        break;
      case reduce_op::product:
        result *= next;
        break;
    }
  }
  return op == reduce_op::mean ? result / ranks : result;
}

/// How far a mean may be off, relative to it: it may have been computed in steps.
template <tensor_element T>
constexpr double rounding() {
  if constexpr (std::same_as<T, float16>) return 0x1p-10;
  if constexpr (std::same_as<T, bfloat16>) return 0x1p-7;
  return 2 * static_cast<double>(std::numeric_limits<numeric::wide<T>>::epsilon());
}

template <tensor_element T, class Expected>
void compare(const std::string& what, const tensor& x, std::int64_t count, Expected expect, double tolerance = 0) {
  if (x.element_count() != count) {
    throw data_loss_error{fmt::format("{}: {} elements, expected {}", what, x.element_count(), count)};
  }
  const auto values = x.values<T>();
  for (auto i = std::int64_t{0}; i < count; ++i) {
    const auto found = widen(values[static_cast<std::size_t>(i)]);
    const auto wanted = widen(convert<T>(expect(i)));
    if (std::abs(static_cast<double>(found) - static_cast<double>(wanted)) <=
        tolerance * std::abs(static_cast<double>(wanted)))
      continue;
    throw data_loss_error{fmt::format("{}: element {} is {}, expected {}", what, i, found, wanted)};
  }
}

template <tensor_element T>
void check_reductions(communicator& ranks, reduce_op op, std::int64_t count, std::chrono::nanoseconds limit) {
  const auto name = fmt::format("{} of {} x {} on rank {} of {}", to_string(op), count, to_string(dtype_of<T>),
                                ranks.rank(), ranks.size());
  const auto tolerance = op == reduce_op::mean ? rounding<T>() : 0;
  auto x = elements_of<T>(ranks.rank(), count);
  ranks.all_reduce(x, op, limit);
  compare<T>(
      "all_reduce " + name, x, count, [&](std::int64_t i) { return expected(op, ranks.size(), i); }, tolerance);

  const auto mine = ranks.reduce_scatter(elements_of<T>(ranks.rank(), count * ranks.size()), op, limit);
  compare<T>(
      "reduce_scatter " + name, mine, count,
      [&](std::int64_t i) { return expected(op, ranks.size(), ranks.rank() * count + i); }, tolerance);
}

template <tensor_element T>
void check_movements(communicator& ranks, std::int64_t count, std::chrono::nanoseconds limit) {
  const auto offset = dtype_of<T> == dtype::boolean ? 1 : 0;
  const auto name = fmt::format("{} x {} on rank {} of {}", count, to_string(dtype_of<T>), ranks.rank(), ranks.size());
  const auto all = ranks.all_gather(elements_of<T>(ranks.rank(), count), limit);
  compare<T>("all_gather " + name, all, count * ranks.size(),
             [&](std::int64_t i) { return element_of(static_cast<int>(i / count), i % count) - offset; });
  for (auto root = 0; root < ranks.size(); ++root) {
    auto x = elements_of<T>(ranks.rank(), count);
    ranks.broadcast(x, root, limit);
    compare<T>("broadcast " + name, x, count, [&](std::int64_t i) { return element_of(root, i) - offset; });
  }
}

}  // namespace

void check_collectives(communicator& ranks, const collective_checks& options) {
  for (const auto type : dtypes) {
    visit_dtype(type, [&]<class T>(std::type_identity<T>) {
      for (const auto count : options.counts) {
        check_movements<T>(ranks, count, options.limit);
        for (const auto op : operations) {
          if (type == dtype::boolean || (op == reduce_op::mean && !is_floating(type))) continue;
          check_reductions<T>(ranks, op, count, options.limit);
        }
        ranks.barrier(options.limit);
      }
    });
  }
}

void check_equal_bits(communicator& ranks, std::int64_t count, std::chrono::nanoseconds limit) {
  std::mt19937 random{static_cast<unsigned>(ranks.rank())};
  std::uniform_real_distribution<float> distribution{-1e6f, 1e6f};
  auto x = tensor::uninitialised(dtype::float32, shape{count});
  for (auto& each : x.mutable_values<float>()) each = distribution(random);
  ranks.all_reduce(x, reduce_op::sum, limit);
  const auto all = ranks.all_gather(x, limit);
  for (auto rank = 0; rank < ranks.size(); ++rank) {
    if (all.slice(rank * count, (rank + 1) * count).bitwise_equal(x)) continue;
    throw data_loss_error{fmt::format("the sums of ranks {} and {} differ in their bits", ranks.rank(), rank)};
  }
}

}  // namespace troupe
