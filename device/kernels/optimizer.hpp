// Optimizers whose state lives beside the variable.
//
// A closure sends a gradient and the rule; the server that holds the variable applies it there, and keeps the rule's
// slots (velocity, moments) in the same shard, so parameters and state never travel to the workers. Formulas:
// device/kernels/optimizer_kernels.hpp.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace troupe {

enum class optimizer_kind : std::uint8_t { sgd, momentum, adagrad, adam };

/// An update rule with its hyper-parameters; a plain value that travels with each gradient.
struct optimizer {
  optimizer_kind kind = optimizer_kind::sgd;
  double learning_rate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  double initial_accumulator = 0.1;

  static optimizer sgd(double learning_rate);
  static optimizer with_momentum(double learning_rate, double momentum = 0.9, bool nesterov = false);
  static optimizer adagrad(double learning_rate, double initial_accumulator = 0.1, double epsilon = 1e-7);
  static optimizer adam(double learning_rate, double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-7);
};

/// Applies one gradient. `slots` are created when they are missing; `step` counts the updates, from 1 for the first.
/// Shapes and dtypes are checked before anything changes.
void apply(const optimizer& rule, tensor& variable, const tensor& gradient, std::map<std::string, tensor>& slots,
           std::int64_t& step);

}  // namespace troupe
