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
  __device__ void operator()(T& target, const T& x) const { target = convert<T>(Operation{}(widen(target), widen(x))); }
};

template <class T>
struct scale_element {
  using computed = std::conditional_t<std::integral<T>, double, wide<T>>;
  computed factor;

  __device__ void operator()(T& target) const { target = convert<T>(static_cast<computed>(target) * factor); }
};

template <class T>
struct axpy_element {
  wide<T> factor;

  __device__ void operator()(T& target, const T& x) const { target = convert<T>(widen(target) + factor * widen(x)); }
};

template <class T>
struct fill_element {
  T value;

  __device__ void operator()(T& target) const { target = value; }
};

template <class To, class From>
struct cast_element {
  __device__ void operator()(To& target, const From& x) const { target = convert<To>(x); }
};

}  // namespace

template <class Operation>
void combine_in_place(tensor& target, const tensor& x) {
  visit_arithmetic("arithmetic", target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::same_as<Operation, numeric::divide> && std::integral<T>) {
      throw internal_error{"integers have no division on a GPU"};
    } else {
      const updated<T> targets{mutable_elements<T>(target)};
      const auto queue = [&](const auto& operand) {
        for_each_element("the kernel of an element-wise operation", target, target.element_count(),
                         combine_element<T, Operation>{}, targets, operand);
      };
      // Only now: x may be the target, whose elements moved if they were shared.
      const auto* const operands = elements<T>(x);
      x.get_shape().is_scalar() ? queue(scalar_input<T>{operands}) : queue(input<T>{operands});
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
    using scale = scale_element<T>;
    for_each_element("the kernel of scale_in_place", target, target.element_count(),
                     scale{static_cast<typename scale::computed>(factor)}, updated<T>{mutable_elements<T>(target)});
  });
}

void axpy_in_place(tensor& target, double factor, const tensor& x) {
  visit_arithmetic("axpy_in_place", target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::integral<T>) {
      const updated<T> targets{mutable_elements<T>(target)};
      for_each_element("the kernel of axpy_in_place", target, target.element_count(),
                       axpy_element<T>{static_cast<wide<T>>(factor)}, targets, input<T>{elements<T>(x)});
    }
  });
}

void fill(tensor& target, double value) {
  visit_dtype(target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_element("the kernel of fill", target, target.element_count(), fill_element<T>{convert<T>(value)},
                     output<T>{mutable_elements<T>(target)});
  });
}

tensor cast(const tensor& x, dtype type) {
  auto result = tensor::uninitialised(type, x.get_shape(), x.device());
  visit_dtype(x.get_dtype(), [&]<class From>(std::type_identity<From>) {
    visit_dtype(type, [&]<class To>(std::type_identity<To>) {
      for_each_element("the kernel of cast", result, result.element_count(), cast_element<To, From>{},
                       output<To>{mutable_elements<To>(result)}, input<From>{elements<From>(x)});
    });
  });
  return result;
}

}  // namespace troupe::cuda
