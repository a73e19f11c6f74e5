// One step of an optimizer on a variable, in place: what a parameter server does with a gradient.
//
// Common rules: variable, slots (velocity, accumulator, m, v) and gradient have the same shape and the same dtype,
// float32 or float64 (invalid_argument_error otherwise), and lie on one device, the host or a GPU
// (failed_precondition_error otherwise); nothing is changed before all that is checked. Variable and slots are
// different tensors. Hyper-parameters are rounded to the variable's dtype. Below, g is the gradient, and all operations
// are element by element.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>

namespace troupe {

/// variable -= learning_rate * g
void sgd_update(tensor& variable, const tensor& gradient, double learning_rate);

/// Keras's SGD with momentum; velocity starts at zero.
///   velocity = momentum * velocity - learning_rate * g
///   variable += velocity                                         (plain)
///   variable += momentum * velocity - learning_rate * g          (nesterov)
void momentum_update(tensor& variable, tensor& velocity, const tensor& gradient, double learning_rate, double momentum,
                     bool nesterov);

/// TensorFlow's ApplyAdagradV2; the accumulator starts at a small value, 0.1 in Keras.
///   accumulator += g^2
///   variable -= learning_rate * g / (sqrt(accumulator) + epsilon)
void adagrad_update(tensor& variable, tensor& accumulator, const tensor& gradient, double learning_rate,
                    double epsilon);

/// TensorFlow's ApplyAdam; m and v start at zero, and `step` counts from 1 (invalid_argument_error otherwise).
///   rate = learning_rate * sqrt(1 - beta2^step) / (1 - beta1^step)
///   m += (1 - beta1) * (g - m)
///   v += (1 - beta2) * (g^2 - v)
///   variable -= rate * m / (sqrt(v) + epsilon)
void adam_update(tensor& variable, tensor& m, tensor& v, const tensor& gradient, double learning_rate, double beta1,
                 double beta2, double epsilon, std::int64_t step);

}  // namespace troupe
