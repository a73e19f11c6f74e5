// Products of matrices on a device, against those of the host.
#include "support/test_devices.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/matmul.hpp>
#include <troupe/device/tensor/eigen.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(matmul_on_devices_suite)

namespace {

// Small integers: their products and sums are exact in any order.
tensor small_integers(const shape& extents) {
  auto x = tensor::uninitialised(dtype::float32, extents);
  auto next = 0;
  for (auto& each : x.mutable_values<float>()) each = static_cast<float>(next++ % 11 - 5);
  return x;
}

row_major_matrix<float> matrix_of(const tensor& x, bool transposed) {
  if (transposed) return matrix_view<float>(x).transpose();
  return matrix_view<float>(x);
}

tensor multiply_on_host(const tensor& a, const tensor& b, transposition transposed) {
  const auto left = matrix_of(a, transposed.of_a);
  const auto right = matrix_of(b, transposed.of_b);
  auto result = tensor::uninitialised(dtype::float32, {left.rows(), right.cols()});
  mutable_matrix_view<float>(result) = left * right;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_product_on_a_device_is_that_of_the_host) {
  for (const auto of_a : {false, true}) {
    for (const auto of_b : {false, true}) {
      const auto a = small_integers(of_a ? shape{70, 33} : shape{33, 70});
      const auto b = small_integers(of_b ? shape{5, 70} : shape{70, 5});
      const transposition transposed{of_a, of_b};
      const auto product = matmul(a.copy_to(test_device()), b.copy_to(test_device()), transposed);
      BOOST_TEST(product.copy_to("CPU:0").bitwise_equal(multiply_on_host(a, b, transposed)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_product_over_nothing_is_zero) {
  const auto product = matmul(tensor::zeros(dtype::float32, {2, 0}, test_device()),
                              tensor::zeros(dtype::float32, {0, 3}, test_device()));
  BOOST_TEST(product.copy_to("CPU:0").bitwise_equal(tensor::zeros(dtype::float32, {2, 3})));
}

BOOST_AUTO_TEST_CASE(matrices_that_cannot_be_multiplied_are_refused) {
  const auto on_device = [](dtype type, const shape& extents) { return tensor::zeros(type, extents, test_device()); };
  const auto a = on_device(dtype::float32, {2, 3});
  BOOST_CHECK_THROW(matmul(a, a), invalid_argument_error);
  BOOST_CHECK_THROW(matmul(a, on_device(dtype::float64, {3, 2})), invalid_argument_error);
  BOOST_CHECK_THROW(matmul(a, on_device(dtype::float32, {3})), invalid_argument_error);
  if (tests_gpus()) BOOST_CHECK_THROW(matmul(a, tensor::zeros(dtype::float32, {3, 2})), failed_precondition_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
