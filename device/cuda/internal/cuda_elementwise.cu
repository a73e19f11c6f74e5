#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/cuda/internal/cuda_kernels.hpp>
#include <troupe/device/cuda/internal/cuda_launch.cuh>
#include <troupe/device/tensor/internal/placement.hpp>

namespace troupe::cuda {

namespace {

using numeric::convert;
using numeric::visit_arithmetic;
using numeric::wide;
using numeric::widen;

template <class T, class Operation>
struct combine_element {
  T* target;
  const T* x;
  std::int64_t x_step;  // 0 for a scalar, 1 otherwise

  __device__ void operator()(std::int64_t i) const {
    target[i] = convert<T>(Operation{}(widen(target[i]), widen(x[i * x_step])));
  }
};

template <class T>
struct scale_element {
  using computed = std::conditional_t<std::integral<T>, double, wide<T>>;
  T* target;
  computed factor;

  __device__ void operator()(std::int64_t i) const {
    target[i] = convert<T>(static_cast<computed>(target[i]) * factor);
  }
};

template <class T>
struct axpy_element {
  T* target;
  const T* x;
  wide<T> factor;

  __device__ void operator()(std::int64_t i) const { target[i] = convert<T>(widen(target[i]) + factor * widen(x[i])); }
};

template <class T>
struct fill_element {
  T* target;
  T value;

  __device__ void operator()(std::int64_t i) const { target[i] = value; }
};

template <class To, class From>
struct cast_element {
  To* target;
  const From* x;

  __device__ void operator()(std::int64_t i) const { target[i] = convert<To>(x[i]); }
};

}  // namespace

template <class Operation>
void combine_in_place(tensor& target, const tensor& x) {
  visit_arithmetic("arithmetic", target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::same_as<Operation, numeric::divide> && std::integral<T>) {
      throw_no_gpu_kernel("divide_in_place", target);
    } else {
      auto* targets = mutable_elements<T>(target);
      // Only now: x may be the target, whose elements moved if they were shared.
      const auto* operands = elements<T>(x);
      const auto x_step = x.get_shape().is_scalar() ? 0 : 1;
      for_each_index("the kernel of an element-wise operation", target, target.element_count(),
                     combine_element<T, Operation>{targets, operands, x_step});
    }
  });
}

template void combine_in_place<numeric::add>(tensor& target, const tensor& x);
template void combine_in_place<numeric::subtract>(tensor& target, const tensor& x);
template void combine_in_place<numeric::multiply>(tensor& target, const tensor& x);
template void combine_in_place<numeric::divide>(tensor& target, const tensor& x);
template void combine_in_place<numeric::minimum>(tensor& target, const tensor& x);
template void combine_in_place<numeric::maximum>(tensor& target, const tensor& x);

void scale_in_place(tensor& target, double factor) {
  visit_arithmetic("scale_in_place", target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    using body = scale_element<T>;
    for_each_index("the kernel of scale_in_place", target, target.element_count(),
                   body{mutable_elements<T>(target), static_cast<typename body::computed>(factor)});
  });
}

void axpy_in_place(tensor& target, double factor, const tensor& x) {
  visit_arithmetic("axpy_in_place", target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::integral<T>) {
      auto* targets = mutable_elements<T>(target);
      for_each_index("the kernel of axpy_in_place", target, target.element_count(),
                     axpy_element<T>{targets, elements<T>(x), static_cast<wide<T>>(factor)});
    }
  });
}

void fill(tensor& target, double value) {
  visit_dtype(target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_index("the kernel of fill", target, target.element_count(),
                   fill_element<T>{mutable_elements<T>(target), convert<T>(value)});
  });
}

tensor cast(const tensor& x, dtype type) {
  auto result = tensor::uninitialised(type, x.get_shape(), x.device());
  visit_dtype(x.get_dtype(), [&]<class From>(std::type_identity<From>) {
    visit_dtype(type, [&]<class To>(std::type_identity<To>) {
      for_each_index("the kernel of cast", result, result.element_count(),
                     cast_element<To, From>{mutable_elements<To>(result), elements<From>(x)});
    });
  });
  return result;
}

}  // namespace troupe::cuda
