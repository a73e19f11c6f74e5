// The formulas are those of optimizer_kernels.cpp, operation by operation.
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/cuda/internal/cuda_kernels.hpp>
#include <troupe/device/cuda/internal/cuda_launch.cuh>

namespace troupe::cuda {

namespace {

template <class T>
struct sgd_element {
  T rate;

  __device__ void operator()(T& x, const T& g) const { x -= rate * g; }
};

template <class T>
struct momentum_element {
  T rate;
  T kept;
  bool nesterov;

  __device__ void operator()(T& x, T& v, const T& g) const {
    const auto change = rate * g;
    v = kept * v - change;
    x += nesterov ? kept * v - change : v;
  }
};

template <class T>
struct adagrad_element {
  T rate;
  T floor;

  __device__ void operator()(T& x, T& sum, const T& g) const {
    sum += g * g;
    x -= rate * g / (sqrt(sum) + floor);
  }
};

template <class T>
struct adam_element {
  T rate;
  T floor;
  T gain1;
  T gain2;

  __device__ void operator()(T& x, T& mean, T& square, const T& g) const {
    mean += gain1 * (g - mean);
    square += gain2 * (g * g - square);
    x -= rate * mean / (sqrt(square) + floor);
  }
};

}  // namespace

void sgd_update(tensor& variable, const tensor& gradient, double learning_rate) {
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_element("the kernel of sgd_update", variable, variable.element_count(),
                     sgd_element<T>{static_cast<T>(learning_rate)}, updated<T>{mutable_elements<T>(variable)},
                     input<T>{elements<T>(gradient)});
  });
}

void momentum_update(tensor& variable, tensor& velocity, const tensor& gradient, double learning_rate, double momentum,
                     bool nesterov) {
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_element("the kernel of momentum_update", variable, variable.element_count(),
                     momentum_element<T>{static_cast<T>(learning_rate), static_cast<T>(momentum), nesterov},
                     updated<T>{mutable_elements<T>(variable)}, updated<T>{mutable_elements<T>(velocity)},
                     input<T>{elements<T>(gradient)});
  });
}

void adagrad_update(tensor& variable, tensor& accumulator, const tensor& gradient, double learning_rate,
                    double epsilon) {
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_element("the kernel of adagrad_update", variable, variable.element_count(),
                     adagrad_element<T>{static_cast<T>(learning_rate), static_cast<T>(epsilon)},
                     updated<T>{mutable_elements<T>(variable)}, updated<T>{mutable_elements<T>(accumulator)},
                     input<T>{elements<T>(gradient)});
  });
}

void adam_update(tensor& variable, tensor& m, tensor& v, const tensor& gradient, double rate, double beta1,
                 double beta2, double epsilon) {
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_element("the kernel of adam_update", variable, variable.element_count(),
                     adam_element<T>{static_cast<T>(rate), static_cast<T>(epsilon), static_cast<T>(1 - beta1),
                                     static_cast<T>(1 - beta2)},
                     updated<T>{mutable_elements<T>(variable)}, updated<T>{mutable_elements<T>(m)},
                     updated<T>{mutable_elements<T>(v)}, input<T>{elements<T>(gradient)});
  });
}

}  // namespace troupe::cuda
