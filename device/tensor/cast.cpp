#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

namespace troupe {

tensor cast(const tensor& x, dtype type) {
  if (type == x.get_dtype()) return x;
  if (is_on_gpu("cast", {&x})) return accelerator_of(x.device()).cast(x, type);
  auto result = tensor::uninitialised(type, x.get_shape());
  visit_dtype(x.get_dtype(), [&]<class From>(std::type_identity<From>) {
    visit_dtype(type, [&]<class To>(std::type_identity<To>) {
      const auto source = x.values<From>();
      const auto target = result.mutable_values<To>();
      for (auto i = std::size_t{0}; i < source.size(); ++i) target[i] = numeric::convert<To>(source[i]);
    });
  });
  return result;
}

}  // namespace troupe
