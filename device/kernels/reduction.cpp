// Passes as in reduction_passes.hpp: the first one reads elements, the others read the accumulators of the one before.
#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/kernels/internal/reduction_passes.hpp>
#include <troupe/device/kernels/reduction.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace troupe {

namespace {

using numeric::convert;
using numeric::widen;

// One accumulator per lane, so that the processor works on all lanes at once; the lanes are joined at the end.
template <class Accumulator, class In, class Operation>
Accumulator reduce_run(const In* x, std::size_t count, Accumulator identity, Operation operation) {
  constexpr std::size_t lane_count = 16;
  std::array<Accumulator, lane_count> lanes;
  lanes.fill(identity);
  auto i = std::size_t{0};
  for (; i + lane_count <= count; i += lane_count) {
    for (auto lane = std::size_t{0}; lane < lane_count; ++lane) {
      lanes[lane] = operation(lanes[lane], static_cast<Accumulator>(widen(x[i + lane])));
    }
  }
  for (; i < count; ++i) lanes[0] = operation(lanes[0], static_cast<Accumulator>(widen(x[i])));
  return std::accumulate(lanes.begin() + 1, lanes.end(), lanes[0], operation);
}

template <class Accumulator, class In, class Operation>
std::vector<Accumulator> run_pass(const reduction_pass& p, const In* x, Accumulator identity, Operation operation) {
  std::vector<Accumulator> sums(p.outer * p.inner, identity);
  for (auto o = std::size_t{0}; o < p.outer; ++o) {
    const auto* block = x + o * p.extent * p.inner;
    if (p.inner == 1) {
      sums[o] = reduce_run(block, p.extent, identity, operation);
      continue;
    }
    auto* into = sums.data() + o * p.inner;
    for (auto e = std::size_t{0}; e < p.extent; ++e) {
      const auto* row = block + e * p.inner;
      for (auto i = std::size_t{0}; i < p.inner; ++i) {
        into[i] = operation(into[i], static_cast<Accumulator>(widen(row[i])));
      }
    }
  }
  return sums;
}

// Reduces x to one accumulator per element of the result, then calls finish(accumulator) for each to get the element.
template <class T, class Out, class Accumulator, class Operation, class Finish>
tensor reduce(const tensor& x, const std::vector<bool>& reduced, Accumulator identity, Operation operation,
              Finish finish) {
  auto result = tensor::uninitialised(dtype_of<Out>, reduced_shape(x.get_shape(), reduced));
  const auto target = result.template mutable_values<Out>();
  const auto passes = plan_passes(x.get_shape(), reduced);
  const auto source = x.template values<T>();
  if (passes.empty()) {
    std::ranges::transform(source, target.begin(),
                           [&](T each) { return finish(static_cast<Accumulator>(widen(each))); });
    return result;
  }
  auto sums = run_pass(passes.front(), source.data(), identity, operation);
  for (auto next = passes.begin() + 1; next != passes.end(); ++next) {
    sums = run_pass(*next, sums.data(), identity, operation);
  }
  std::ranges::transform(sums, target.begin(), finish);
  return result;
}

// What the accumulator of a sum is: exact for integers modulo 2^64, double for floats.
template <class T>
using sum_accumulator = std::conditional_t<std::integral<T>, std::uint64_t, double>;

template <class Operation>
tensor select(std::string_view name, const tensor& x, const reduction_axes& axes, Operation operation) {
  const auto reduced = axes.resolve(x.get_shape());
  const auto kept = reduced_shape(x.get_shape(), reduced);
  if (x.element_count() == 0 && kept.element_count() > 0) {
    throw invalid_argument_error{
        fmt::format("{}: shape {} has no elements to choose from along the reduced axes; reduce only "
                    "tensors with at least one element",
                    name, x.get_shape().to_string())};
  }
  if (is_on_gpu(name, {&x})) return select(name, x.copy_to("CPU:0"), axes, operation).copy_to(x.device());
  return numeric::visit_arithmetic(name, x.get_dtype(), [&]<class T>(std::type_identity<T>) {
    using wide = numeric::wide<T>;
    using limits = std::numeric_limits<wide>;
    constexpr auto is_minimum = std::same_as<Operation, numeric::minimum>;
    constexpr auto largest = limits::has_infinity ? limits::infinity() : limits::max();
    constexpr auto smallest = limits::has_infinity ? static_cast<wide>(-limits::infinity()) : limits::lowest();
    return reduce<T, T>(x, reduced, is_minimum ? largest : smallest, operation, convert<T, wide>);
  });
}

}  // namespace

std::vector<bool> reduction_axes::resolve(const shape& extents) const {
  std::vector<bool> reduced(static_cast<std::size_t>(extents.rank()), !axes_);
  if (!axes_) return reduced;
  for (const auto axis : *axes_) {
    const auto position = static_cast<std::size_t>(extents.normalise_axis(axis));
    if (reduced[position]) {
      throw invalid_argument_error{fmt::format(
          "axis {} of shape {} is named twice among the axes to reduce; name it once", position, extents.to_string())};
    }
    reduced[position] = true;
  }
  return reduced;
}

tensor reduce_sum(const tensor& x, const reduction_axes& axes) {
  const auto reduced = axes.resolve(x.get_shape());
  numeric::check_arithmetic("reduce_sum", x.get_dtype());
  if (is_on_gpu("reduce_sum", {&x})) return accelerator_of(x.device()).reduce_sum(x, axes);
  return numeric::visit_arithmetic("reduce_sum", x.get_dtype(), [&]<class T>(std::type_identity<T>) {
    using accumulator = sum_accumulator<T>;
    return reduce<T, T>(x, reduced, accumulator{0}, numeric::add{}, convert<T, accumulator>);
  });
}

tensor reduce_mean(const tensor& x, const reduction_axes& axes) {
  const auto reduced = axes.resolve(x.get_shape());
  numeric::check_arithmetic("reduce_mean", x.get_dtype());
  if (is_on_gpu("reduce_mean", {&x})) return accelerator_of(x.device()).reduce_mean(x, axes);
  const auto count = reduced_count(x.get_shape(), reduced);
  return numeric::visit_arithmetic("reduce_mean", x.get_dtype(), [&]<class T>(std::type_identity<T>) {
    using result_type = std::conditional_t<std::integral<T>, float, T>;
    const auto divide = [count](double sum) { return convert<result_type>(sum / count); };
    return reduce<T, result_type>(x, reduced, 0.0, numeric::add{}, divide);
  });
}

tensor reduce_min(const tensor& x, const reduction_axes& axes) {
  return select("reduce_min", x, axes, numeric::minimum{});
}

tensor reduce_max(const tensor& x, const reduction_axes& axes) {
  return select("reduce_max", x, axes, numeric::maximum{});
}

}  // namespace troupe
