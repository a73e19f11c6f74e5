// The formulas are those of optimizer_kernels.cpp, operation by operation.
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/cuda/internal/cuda_kernels.hpp>
#include <troupe/device/cuda/internal/cuda_launch.cuh>

namespace troupe::cuda {

namespace {

template <class T>
struct sgd_element {
  T* x;
  const T* g;
  T rate;

  __device__ void operator()(std::int64_t i) const { x[i] -= rate * g[i]; }
};

template <class T>
struct momentum_element {
  T* x;
  T* v;
  const T* g;
  T rate;
  T kept;
  bool nesterov;

  __device__ void operator()(std::int64_t i) const {
    const auto change = rate * g[i];
    v[i] = kept * v[i] - change;
    x[i] += nesterov ? kept * v[i] - change : v[i];
  }
};

template <class T>
struct adagrad_element {
  T* x;
  T* sum;
  const T* g;
  T rate;
  T floor;

  __device__ void operator()(std::int64_t i) const {
    sum[i] += g[i] * g[i];
    x[i] -= rate * g[i] / (sqrt(sum[i]) + floor);
  }
};

template <class T>
struct adam_element {
  T* x;
  T* mean;
  T* square;
  const T* g;
  T rate;
  T floor;
  T gain1;
  T gain2;

  __device__ void operator()(std::int64_t i) const {
    mean[i] += gain1 * (g[i] - mean[i]);
    square[i] += gain2 * (g[i] * g[i] - square[i]);
    x[i] -= rate * mean[i] / (sqrt(square[i]) + floor);
  }
};

}  // namespace

void sgd_update(tensor& variable, const tensor& gradient, double learning_rate) {
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_index("the kernel of sgd_update", variable, variable.element_count(),
                   sgd_element<T>{mutable_elements<T>(variable), elements<T>(gradient), static_cast<T>(learning_rate)});
  });
}

void momentum_update(tensor& variable, tensor& velocity, const tensor& gradient, double learning_rate, double momentum,
                     bool nesterov) {
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_index(
        "the kernel of momentum_update", variable, variable.element_count(),
        momentum_element<T>{mutable_elements<T>(variable), mutable_elements<T>(velocity), elements<T>(gradient),
                            static_cast<T>(learning_rate), static_cast<T>(momentum), nesterov});
  });
}

void adagrad_update(tensor& variable, tensor& accumulator, const tensor& gradient, double learning_rate,
                    double epsilon) {
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_index("the kernel of adagrad_update", variable, variable.element_count(),
                   adagrad_element<T>{mutable_elements<T>(variable), mutable_elements<T>(accumulator),
                                      elements<T>(gradient), static_cast<T>(learning_rate), static_cast<T>(epsilon)});
  });
}

void adam_update(tensor& variable, tensor& m, tensor& v, const tensor& gradient, double rate, double beta1,
                 double beta2, double epsilon) {
  numeric::visit_floating(variable.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_index("the kernel of adam_update", variable, variable.element_count(),
                   adam_element<T>{mutable_elements<T>(variable), mutable_elements<T>(m), mutable_elements<T>(v),
                                   elements<T>(gradient), static_cast<T>(rate), static_cast<T>(epsilon),
                                   static_cast<T>(1 - beta1), static_cast<T>(1 - beta2)});
  });
}

}  // namespace troupe::cuda
