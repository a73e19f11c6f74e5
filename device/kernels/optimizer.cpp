#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/optimizer.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>

#include <fmt/format.h>

namespace troupe {

namespace {

void check_positive(double x, const char* name) {
  if (!(x > 0)) throw invalid_argument_error{fmt::format("an optimizer's {} is {} but must be positive", name, x)};
}

void check_not_negative(double x, const char* name) {
  if (!(x >= 0)) throw invalid_argument_error{fmt::format("an optimizer's {} is {} but must not be negative", name, x)};
}

void check_fraction(double x, const char* name) {
  if (!(x >= 0 && x < 1))
    throw invalid_argument_error{fmt::format("an optimizer's {} is {} but must be at least 0 and below 1", name, x)};
}

tensor& slot(std::map<std::string, tensor>& slots, const std::string& name, const tensor& like, double initial) {
  const auto found = slots.find(name);
  if (found != slots.end()) return found->second;
  auto fresh = tensor::zeros(like.get_dtype(), like.get_shape(), like.device());
  if (initial != 0) fill(fresh, initial);
  return slots.emplace(name, std::move(fresh)).first->second;
}

}  // namespace

optimizer optimizer::sgd(double learning_rate) {
  check_positive(learning_rate, "learning rate");
  return {.kind = optimizer_kind::sgd, .learning_rate = learning_rate};
}

optimizer optimizer::with_momentum(double learning_rate, double momentum, bool nesterov) {
  check_positive(learning_rate, "learning rate");
  check_fraction(momentum, "momentum");
  return {.kind = optimizer_kind::momentum, .learning_rate = learning_rate, .momentum = momentum, .nesterov = nesterov};
}

optimizer optimizer::adagrad(double learning_rate, double initial_accumulator, double epsilon) {
  check_positive(learning_rate, "learning rate");
  check_not_negative(initial_accumulator, "initial accumulator");
  check_positive(epsilon, "epsilon");
  return {.kind = optimizer_kind::adagrad,
          .learning_rate = learning_rate,
          .epsilon = epsilon,
          .initial_accumulator = initial_accumulator};
}

optimizer optimizer::adam(double learning_rate, double beta1, double beta2, double epsilon) {
  check_positive(learning_rate, "learning rate");
  check_fraction(beta1, "beta1");
  check_fraction(beta2, "beta2");
  check_positive(epsilon, "epsilon");
  return {
      .kind = optimizer_kind::adam, .learning_rate = learning_rate, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon};
}

void apply(const optimizer& rule, tensor& variable, const tensor& gradient, std::map<std::string, tensor>& slots,
           std::int64_t& step) {
  if (variable.get_shape() != gradient.get_shape() || variable.get_dtype() != gradient.get_dtype())
    throw invalid_argument_error{fmt::format("a gradient of {} {} does not fit a variable of {} {}",
                                             to_string(gradient.get_dtype()), gradient.get_shape().to_string(),
                                             to_string(variable.get_dtype()), variable.get_shape().to_string())};
  if (variable.get_dtype() != dtype::float32 && variable.get_dtype() != dtype::float64)
    throw invalid_argument_error{
        fmt::format("an optimizer updates float32 and float64 variables, not {}", to_string(variable.get_dtype()))};
  switch (rule.kind) {
    case optimizer_kind::sgd:
      sgd_update(variable, gradient, rule.learning_rate);
      break;
    case optimizer_kind::momentum:
      momentum_update(variable, slot(slots, "momentum", variable, 0), gradient, rule.learning_rate, rule.momentum,
                      rule.nesterov);
      break;
    case optimizer_kind::adagrad:
      adagrad_update(variable, slot(slots, "accumulator", variable, rule.initial_accumulator), gradient,
                     rule.learning_rate, rule.epsilon);
      break;
    case optimizer_kind::adam:
      adam_update(variable, slot(slots, "m", variable, 0), slot(slots, "v", variable, 0), gradient, rule.learning_rate,
                  rule.beta1, rule.beta2, rule.epsilon, step + 1);
      break;
    default:
      throw invalid_argument_error{fmt::format("optimizer kind {} is unknown", static_cast<int>(rule.kind))};
  }
  ++step;
}

}  // namespace troupe
