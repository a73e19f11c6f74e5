// The loops are compiled for vectorisation, and without errno for sqrt, which would prevent it (see CMakeLists.txt).
#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/kernels/internal/adam_rate.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <string_view>

namespace troupe {

namespace {

struct operand {
  std::string_view name;
  const tensor& value;
};

void check_operands(std::string_view optimizer, const tensor& variable, std::initializer_list<operand> others) {
  const auto type = variable.get_dtype();
  if (type != dtype::float32 && type != dtype::float64) {
    throw invalid_argument_error{
        fmt::format("{}: the variable holds {}; expected float32 or float64: create the variable with "
                    "one of these",
                    optimizer, to_string(type))};
  }
  for (const auto& [name, value] : others) {
    if (&value == &variable) {
      throw invalid_argument_error{
          fmt::format("{}: the {} is the variable itself; pass another tensor", optimizer, name)};
    }
    if (value.get_dtype() == type && value.get_shape() == variable.get_shape()) continue;
    throw invalid_argument_error{
        fmt::format("{}: the variable is {} of shape {}, but the {} is {} of shape {}; expected the same "
                    "dtype and shape",
                    optimizer, to_string(type), variable.get_shape().to_string(), name, to_string(value.get_dtype()),
                    value.get_shape().to_string())};
  }
}

}  // namespace

void sgd_update(tensor& variable, const tensor& gradient, double learning_rate) {
  check_operands("sgd_update", variable, {{"gradient", gradient}});
  if (is_on_gpu("sgd_update", {&variable, &gradient}))
    return accelerator_of(variable.device()).sgd_update(variable, gradient, learning_rate);
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    const auto rate = static_cast<T>(learning_rate);
    const auto x = variable.mutable_values<T>();
    const auto g = gradient.values<T>();
    for (auto i = std::size_t{0}; i < x.size(); ++i) x[i] -= rate * g[i];
  });
}

void momentum_update(tensor& variable, tensor& velocity, const tensor& gradient, double learning_rate, double momentum,
                     bool nesterov) {
  check_operands("momentum_update", variable, {{"velocity", velocity}, {"gradient", gradient}});
  if (is_on_gpu("momentum_update", {&variable, &velocity, &gradient})) {
    return accelerator_of(variable.device())
        .momentum_update(variable, velocity, gradient, learning_rate, momentum, nesterov);
  }
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    const auto rate = static_cast<T>(learning_rate);
    const auto kept = static_cast<T>(momentum);
    const auto x = variable.mutable_values<T>();
    const auto v = velocity.mutable_values<T>();
    const auto g = gradient.values<T>();
    for (auto i = std::size_t{0}; i < x.size(); ++i) {
      const auto change = rate * g[i];
      v[i] = kept * v[i] - change;
      x[i] += nesterov ? kept * v[i] - change : v[i];
    }
  });
}

void adagrad_update(tensor& variable, tensor& accumulator, const tensor& gradient, double learning_rate,
                    double epsilon) {
  check_operands("adagrad_update", variable, {{"accumulator", accumulator}, {"gradient", gradient}});
  if (is_on_gpu("adagrad_update", {&variable, &accumulator, &gradient})) {
    return accelerator_of(variable.device()).adagrad_update(variable, accumulator, gradient, learning_rate, epsilon);
  }
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    const auto rate = static_cast<T>(learning_rate);
    const auto floor = static_cast<T>(epsilon);
    const auto x = variable.mutable_values<T>();
    const auto sum = accumulator.mutable_values<T>();
    const auto g = gradient.values<T>();
    for (auto i = std::size_t{0}; i < x.size(); ++i) {
      sum[i] += g[i] * g[i];
      x[i] -= rate * g[i] / (std::sqrt(sum[i]) + floor);
    }
  });
}

void adam_update(tensor& variable, tensor& m, tensor& v, const tensor& gradient, double learning_rate, double beta1,
                 double beta2, double epsilon, std::int64_t step) {
  check_operands("adam_update", variable, {{"slot m", m}, {"slot v", v}, {"gradient", gradient}});
  if (step < 1) {
    throw invalid_argument_error{
        fmt::format("adam_update: step is {}; expected 1 for the first update, then 2, 3, ...", step)};
  }
  if (is_on_gpu("adam_update", {&variable, &m, &v, &gradient})) {
    return accelerator_of(variable.device())
        .adam_update(variable, m, v, gradient, learning_rate, beta1, beta2, epsilon, step);
  }
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    const auto rate = static_cast<T>(adam_rate(learning_rate, beta1, beta2, step));
    const auto floor = static_cast<T>(epsilon);
    const auto gain1 = static_cast<T>(1 - beta1);
    const auto gain2 = static_cast<T>(1 - beta2);
    const auto x = variable.mutable_values<T>();
    const auto mean = m.mutable_values<T>();
    const auto square = v.mutable_values<T>();
    const auto g = gradient.values<T>();
    for (auto i = std::size_t{0}; i < x.size(); ++i) {
      mean[i] += gain1 * (g[i] - mean[i]);
      square[i] += gain2 * (g[i] * g[i] - square[i]);
      x[i] -= rate * mean[i] / (std::sqrt(square[i]) + floor);
    }
  });
}

}  // namespace troupe
