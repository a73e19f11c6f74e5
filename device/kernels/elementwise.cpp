// Loops over whole tensors. Compiled for vectorisation (see CMakeLists.txt): no branches in the loops, and the compiler
// checks at run time whether target and operand overlap, as they do in add_in_place(x, x).
#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

using numeric::convert;
using numeric::visit_arithmetic;
using numeric::widen;

void check_dtypes(std::string_view operation, const tensor& target, const tensor& x) {
  if (target.get_dtype() == x.get_dtype()) return;
  throw invalid_argument_error{fmt::format("{}: the target holds {} but the operand {}; cast the operand to {} first",
                                           operation, to_string(target.get_dtype()), to_string(x.get_dtype()),
                                           to_string(target.get_dtype()))};
}

[[noreturn]] void throw_shapes_differ(std::string_view operation, const tensor& target, const tensor& x,
                                      std::string_view expected) {
  throw invalid_argument_error{fmt::format("{}: the target has shape {} but the operand {}; expected {}", operation,
                                           target.get_shape().to_string(), x.get_shape().to_string(), expected)};
}

template <class T>
void check_divisors(std::string_view operation, std::span<const T> divisors) {
  const auto zero = std::ranges::find(divisors, T{0});
  if (zero == divisors.end()) return;
  throw invalid_argument_error{
      fmt::format("{}: element {} of the divisor is the integer 0; divide floats, or mask it first", operation,
                  zero - divisors.begin())};
}

template <class T, class Operation>
void combine(std::span<T> target, std::span<const T> x, Operation operation) {
  for (auto i = std::size_t{0}; i < target.size(); ++i) {
    target[i] = convert<T>(operation(widen(target[i]), widen(x[i])));
  }
}

template <class T, class Operation>
void combine_with_scalar(std::span<T> target, T x, Operation operation) {
  const auto operand = widen(x);
  for (auto& each : target) each = convert<T>(operation(widen(each), operand));
}

/// For what would have to look for zeros before it writes anything.
void divide_on_host(tensor& target, const tensor& x) {
  auto quotients = target.copy_to("CPU:0");
  divide_in_place(quotients, x.copy_to("CPU:0"));
  target = quotients.copy_to(target.device());
}

template <class Operation>
void apply_in_place(binary_operation which, std::string_view name, tensor& target, const tensor& x,
                    Operation operation) {
  check_dtypes(name, target, x);
  const auto broadcast = x.get_shape().is_scalar();
  if (!broadcast && target.get_shape() != x.get_shape()) {
    throw_shapes_differ(name, target, x, "equal shapes, or an operand of shape ()");
  }
  numeric::check_arithmetic(name, target.get_dtype());
  if (is_on_gpu(name, {&target, &x})) {
    if (std::same_as<Operation, numeric::divide> && !is_floating(target.get_dtype())) return divide_on_host(target, x);
    return accelerator_of(target.device()).combine_in_place(which, target, x);
  }
  visit_arithmetic(name, target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    auto operands = x.values<T>();
    if constexpr (std::same_as<Operation, numeric::divide> && std::integral<T>) check_divisors(name, operands);
    const auto targets = target.mutable_values<T>();
    operands = x.values<T>();  // again: x may be the target, whose elements moved if they were shared
    if (broadcast) {
      combine_with_scalar(targets, operands.front(), operation);
    } else {
      combine(targets, operands, operation);
    }
  });
}

}  // namespace

void add_in_place(tensor& target, const tensor& x) {
  apply_in_place(binary_operation::add, "add_in_place", target, x, numeric::add{});
}

void subtract_in_place(tensor& target, const tensor& x) {
  apply_in_place(binary_operation::subtract, "subtract_in_place", target, x, numeric::subtract{});
}

void multiply_in_place(tensor& target, const tensor& x) {
  apply_in_place(binary_operation::multiply, "multiply_in_place", target, x, numeric::multiply{});
}

void divide_in_place(tensor& target, const tensor& x) {
  apply_in_place(binary_operation::divide, "divide_in_place", target, x, numeric::divide{});
}

void minimum_in_place(tensor& target, const tensor& x) {
  apply_in_place(binary_operation::minimum, "minimum_in_place", target, x, numeric::minimum{});
}

void maximum_in_place(tensor& target, const tensor& x) {
  apply_in_place(binary_operation::maximum, "maximum_in_place", target, x, numeric::maximum{});
}

void scale_in_place(tensor& target, double factor) {
  numeric::check_arithmetic("scale_in_place", target.get_dtype());
  if (is_on_gpu("scale_in_place", {&target})) return accelerator_of(target.device()).scale_in_place(target, factor);
  visit_arithmetic("scale_in_place", target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    using computed = std::conditional_t<std::integral<T>, double, numeric::wide<T>>;
    const auto multiplier = static_cast<computed>(factor);
    for (auto& each : target.mutable_values<T>()) each = convert<T>(static_cast<computed>(each) * multiplier);
  });
}

dtype sum_dtype(dtype type) { return type == dtype::float16 || type == dtype::bfloat16 ? dtype::float32 : type; }

void divide_in_place(tensor& target, double divisor) {
  const auto type = target.get_dtype();
  if (!is_floating(type))
    throw invalid_argument_error{
        fmt::format("divide_in_place: the target holds {}; expected a floating dtype: cast first", to_string(type))};
  const auto wide = sum_dtype(type);
  const auto number = cast(tensor::scalar(divisor), wide).copy_to(target.device());
  if (type == wide) return divide_in_place(target, number);
  auto quotient = cast(target, wide);
  divide_in_place(quotient, number);
  target = cast(quotient, type);
}

void axpy_in_place(tensor& target, double factor, const tensor& x) {
  check_dtypes("axpy_in_place", target, x);
  if (target.get_shape() != x.get_shape()) throw_shapes_differ("axpy_in_place", target, x, "equal shapes");
  if (!is_floating(target.get_dtype())) {
    throw invalid_argument_error{fmt::format(
        "axpy_in_place: the target holds {}; expected a floating dtype: cast first", to_string(target.get_dtype()))};
  }
  if (is_on_gpu("axpy_in_place", {&target, &x}))
    return accelerator_of(target.device()).axpy_in_place(target, factor, x);
  visit_arithmetic("axpy_in_place", target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::integral<T>) {
      const auto multiplier = static_cast<numeric::wide<T>>(factor);
      const auto targets = target.mutable_values<T>();
      combine(targets, x.values<T>(), [multiplier](auto y, auto term) { return y + multiplier * term; });
    }
  });
}

void fill(tensor& target, double value) {
  if (!target.get_buffer().unique()) {
    target = tensor::uninitialised(target.get_dtype(), target.get_shape(), target.device());
  }
  if (is_on_gpu("fill", {&target})) return accelerator_of(target.device()).fill(target, value);
  visit_dtype(target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    std::ranges::fill(target.mutable_values<T>(), convert<T>(value));
  });
}

}  // namespace troupe
