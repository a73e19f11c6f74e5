// What a device computes, against what the host computes: equal bit for bit, but for which NaN a NaN is.
#include "support/test_devices.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/reduction.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(elementwise_on_devices_suite)

namespace {

constexpr auto dtypes = {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8,
                         dtype::int16,   dtype::int32,   dtype::int64,   dtype::uint8};

// Values of all signs and sizes, with infinities and NaN where the dtype has them.
tensor values_of(dtype type, double shift) {
  constexpr auto count = 1003;
  auto x = tensor::uninitialised(dtype::float64, {count});
  const auto elements = x.mutable_values<double>();
  for (auto i = 0; i < count; ++i) elements[static_cast<std::size_t>(i)] = (i - 500) * 0.37 + shift;
  elements[0] = std::numeric_limits<double>::infinity();
  elements[1] = std::numeric_limits<double>::quiet_NaN();
  elements[2] = 1e-40;
  elements[3] = -1e30;
  return cast(x, type);
}

bool is_same(const tensor& computed, const tensor& expected) {
  return visit_dtype(expected.get_dtype(), [&]<class T>(std::type_identity<T>) {
    const auto left = computed.values<T>();
    const auto right = expected.values<T>();
    return std::ranges::equal(left, right, [](const T& a, const T& b) {
      if constexpr (std::is_same_v<T, bool>) {
        return a == b;
      } else {
        const auto x = numeric::widen(a);
        const auto y = numeric::widen(b);
        return (x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0;
      }
    });
  });
}

using operation = std::function<void(tensor& target, const tensor& x)>;

void check_same_as_on_host(const std::string& name, dtype type, const operation& apply, const tensor& x) {
  auto expected = values_of(type, 0.5);
  auto computed = expected.copy_to(test_device());
  apply(expected, x);
  apply(computed, x.copy_to(test_device()));
  BOOST_TEST_CONTEXT(name << " of " << to_string(type)) { BOOST_TEST(is_same(computed.copy_to("CPU:0"), expected)); }
}

}  // namespace

BOOST_AUTO_TEST_CASE(arithmetic_on_a_device_gives_the_bits_of_the_host) {
  const std::vector<std::pair<std::string, operation>> operations{
      {"add", add_in_place},
      {"subtract", subtract_in_place},
      {"multiply", multiply_in_place},
      {"minimum", minimum_in_place},
      {"maximum", maximum_in_place},
      {"scale", [](tensor& target, const tensor&) { scale_in_place(target, 0.3); }},
      {"fill", [](tensor& target, const tensor&) { fill(target, 3.7); }}};
  for (const auto& [name, apply] : operations) {
    for (const auto type : dtypes) {
      check_same_as_on_host(name, type, apply, values_of(type, -2.25));
      check_same_as_on_host(name + " with a scalar", type, apply, cast(tensor::scalar(2.5), type));
    }
  }
}

BOOST_AUTO_TEST_CASE(floating_arithmetic_on_a_device_gives_the_bits_of_the_host) {
  for (const auto type : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16}) {
    check_same_as_on_host(
        "divide", type, [](tensor& target, const tensor& x) { divide_in_place(target, x); }, values_of(type, -2.25));
    check_same_as_on_host(
        "axpy", type, [](tensor& target, const tensor& x) { axpy_in_place(target, 1.7, x); }, values_of(type, -2.25));
  }
}

BOOST_AUTO_TEST_CASE(a_cast_on_a_device_gives_the_bits_of_the_host) {
  std::vector<dtype> all{dtypes};
  all.push_back(dtype::boolean);
  for (const auto from : all) {
    const auto x = values_of(from, 0.5);
    for (const auto to : all) {
      BOOST_TEST_CONTEXT(to_string(from) << " to " << to_string(to)) {
        BOOST_TEST(is_same(cast(x.copy_to(test_device()), to).copy_to("CPU:0"), cast(x, to)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_on_a_device_is_combined_with_itself) {
  auto expected = values_of(dtype::float32, 0.5);
  auto computed = expected.copy_to(test_device());
  add_in_place(expected, expected);
  add_in_place(computed, computed);
  BOOST_TEST(is_same(computed.copy_to("CPU:0"), expected));
}

// A GPU moves several elements at once where they lie right.
BOOST_AUTO_TEST_CASE(operands_that_begin_anywhere_in_memory_give_the_bits_of_the_host) {
  for (const auto type : dtypes) {
    const auto x = values_of(type, -2.25);
    const auto there = x.copy_to(test_device());
    for (const auto begin : {1, 2, 5}) {
      auto expected = values_of(type, 0.5).slice(begin, 1003);
      auto computed = expected.copy_to(test_device());
      add_in_place(expected, x.slice(begin, 1003));
      add_in_place(computed, there.slice(begin, 1003));
      BOOST_TEST_CONTEXT("element " << begin << " of " << to_string(type)) {
        BOOST_TEST(is_same(computed.copy_to("CPU:0"), expected));
      }
    }
  }
}

// Some rows come several times, and are changed one after another.
BOOST_AUTO_TEST_CASE(rows_on_a_device_are_gathered_and_changed_as_on_the_host) {
  const std::vector<std::int64_t> indices{4, 0, 4, 6, 4, 0};
  for (const auto type : dtypes) {
    const auto source = values_of(type, 0.5).slice(0, 7 * 20).reshape({7, 20});
    const auto rows = values_of(type, -2.25).slice(200, 200 + 6 * 20).reshape({6, 20});
    BOOST_TEST_CONTEXT(to_string(type)) {
      BOOST_TEST(
          is_same(gather_rows(source.copy_to(test_device()), indices).copy_to("CPU:0"), gather_rows(source, indices)));
      for (const auto scatter : {scatter_rows_update, scatter_rows_add, scatter_rows_subtract}) {
        auto expected = source;
        auto computed = source.copy_to(test_device());
        scatter(expected, indices, rows);
        scatter(computed, indices, rows.copy_to(test_device()));
        BOOST_TEST(is_same(computed.copy_to("CPU:0"), expected));
      }
    }
  }
  const auto yes_and_no = cast(values_of(dtype::int32, 0).slice(0, 600), dtype::boolean).reshape({60, 10});
  BOOST_TEST(is_same(gather_rows(yes_and_no.copy_to(test_device()), indices).copy_to("CPU:0"),
                     gather_rows(yes_and_no, indices)));
}

BOOST_AUTO_TEST_CASE(rows_that_are_a_part_of_the_target_are_taken_as_they_were) {
  const std::vector<std::int64_t> indices{1, 2};
  auto x = tensor::of(shape{3, 1}, {1.0f, 2.0f, 3.0f}).copy_to(test_device());
  scatter_rows_add(x, indices, x.slice(0, 2));
  BOOST_TEST(x.copy_to("CPU:0").bitwise_equal(tensor::of(shape{3, 1}, {1.0f, 3.0f, 5.0f})));
}

BOOST_AUTO_TEST_CASE(no_rows_change_nothing) {
  const std::vector<std::int64_t> none;
  auto x = tensor::of(shape{3, 1}, {1.0f, 2.0f, 3.0f}).copy_to(test_device());
  scatter_rows_add(x, none, tensor::zeros(dtype::float32, {0, 1}, test_device()));
  BOOST_TEST((gather_rows(x, none).get_shape() == shape{0, 1}));
  BOOST_TEST(x.copy_to("CPU:0").bitwise_equal(tensor::of(shape{3, 1}, {1.0f, 2.0f, 3.0f})));
}

BOOST_AUTO_TEST_CASE(errors_come_before_anything_is_written) {
  auto x = tensor::zeros(dtype::float32, {3}, test_device());
  const auto longer = tensor::zeros(dtype::float32, {4}, test_device());
  const auto whole = tensor::zeros(dtype::int32, {3}, test_device());
  auto yes = tensor::zeros(dtype::boolean, {3}, test_device());
  BOOST_CHECK_THROW(add_in_place(x, longer), invalid_argument_error);
  BOOST_CHECK_THROW(add_in_place(x, whole), invalid_argument_error);
  BOOST_CHECK_THROW(scale_in_place(yes, 2), invalid_argument_error);
  BOOST_TEST(x.copy_to("CPU:0").bitwise_equal(tensor::zeros(dtype::float32, {3})));
}

BOOST_AUTO_TEST_CASE(operands_on_different_devices_are_refused_with_both_names) {
  if (!tests_gpus()) return;
  auto x = tensor::zeros(dtype::float32, {3}, test_device());
  const auto names_both = [](const failed_precondition_error& e) {
    return e.message().find("CPU:0") != std::string::npos && e.message().find(test_device()) != std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(add_in_place(x, tensor::zeros(dtype::float32, {3})), failed_precondition_error, names_both);
}

BOOST_AUTO_TEST_CASE(integers_are_divided_anywhere_and_never_by_zero) {
  auto x = tensor::of({7, -7, 9}).copy_to(test_device());
  const auto before = x;
  divide_in_place(x, tensor::of({2, 2, -4}).copy_to(test_device()));
  BOOST_TEST(x.device() == test_device());
  BOOST_TEST(x.copy_to("CPU:0").bitwise_equal(tensor::of({3, -3, -2})));
  BOOST_CHECK_EXCEPTION(
      divide_in_place(x, tensor::of({1, 0, 1}).copy_to(test_device())), invalid_argument_error,
      [](const auto& e) { return e.message().find("element 1 of the divisor") != std::string::npos; });
  BOOST_TEST(x.copy_to("CPU:0").bitwise_equal(tensor::of({3, -3, -2})));
  divide_in_place(x, x);
  BOOST_TEST(x.copy_to("CPU:0").bitwise_equal(tensor::of({1, 1, 1})));
  BOOST_TEST(before.copy_to("CPU:0").bitwise_equal(tensor::of({7, -7, 9})));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
