#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(elementwise_suite)

namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();
constexpr auto not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> list(const tensor& x) {
  const auto values = x.values<T>();
  return {values.begin(), values.end()};
}

// a op b for scalars of type T.
template <class T>
T apply(void (*operation)(tensor&, const tensor&), T a, T b) {
  tensor target = tensor::scalar(a);
  operation(target, tensor::scalar(b));
  return target.item<T>();
}

}  // namespace

BOOST_AUTO_TEST_CASE(arithmetic_works_element_by_element) {
  auto x = tensor::of({1.0f, 2.0f, 3.0f});
  add_in_place(x, tensor::of({10.0f, 20.0f, 30.0f}));
  BOOST_CHECK((list<float>(x) == std::vector{11.0f, 22.0f, 33.0f}));
  subtract_in_place(x, tensor::of({1.0f, 2.0f, 3.0f}));
  multiply_in_place(x, tensor::of({2.0f, 1.0f, 0.5f}));
  BOOST_CHECK((list<float>(x) == std::vector{20.0f, 20.0f, 15.0f}));
  divide_in_place(x, tensor::of({4.0f, 5.0f, 0.0f}));
  BOOST_CHECK((list<float>(x) == std::vector{5.0f, 4.0f, static_cast<float>(infinity)}));
}

BOOST_AUTO_TEST_CASE(arithmetic_works_for_every_numeric_dtype) {
  for (const auto type : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8, dtype::int16,
                          dtype::int32, dtype::int64, dtype::uint8}) {
    auto x = cast(tensor::of({6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22}), type);
    add_in_place(x, x);
    multiply_in_place(x, cast(tensor::scalar(2), type));
    divide_in_place(x, cast(tensor::scalar(4), type));
    subtract_in_place(x, cast(tensor::scalar(6), type));
    BOOST_CHECK(
        (list<int>(cast(x, dtype::int32)) == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  }
}

BOOST_AUTO_TEST_CASE(a_scalar_operand_is_applied_to_every_element) {
  auto x = tensor::of({1, 2, 3});
  add_in_place(x, tensor::scalar(5));
  BOOST_CHECK((list<int>(x) == std::vector{6, 7, 8}));
}

BOOST_AUTO_TEST_CASE(an_operand_may_share_its_bytes_with_the_target) {
  auto x = tensor::of({1, 2, 3, 4});
  add_in_place(x, x);
  const auto whole = x;
  auto part = whole.slice(0, 2);
  subtract_in_place(part, whole.slice(1, 3));
  BOOST_CHECK((list<int>(whole) == std::vector{2, 4, 6, 8}));
  BOOST_CHECK((list<int>(part) == std::vector{-2, -2}));
}

BOOST_AUTO_TEST_CASE(an_operand_that_is_the_target_moves_with_it) {
  std::vector<float> memory{1, 2};
  std::shared_ptr<void> owner{&memory, [](void* gone) { *static_cast<std::vector<float>*>(gone) = {-1, -1}; }};
  auto x = tensor::from_buffer(dtype::float32, {2}, buffer::adopt(std::move(owner), memory.data(), 8));
  add_in_place(x, x);
  BOOST_CHECK((list<float>(x) == std::vector{2.0f, 4.0f}));
}

BOOST_AUTO_TEST_CASE(integers_wrap_around) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  constexpr auto smallest = std::numeric_limits<std::int32_t>::min();
  BOOST_TEST(apply<std::int64_t>(add_in_place, largest, 1) == std::numeric_limits<std::int64_t>::min());
  BOOST_TEST(apply<std::int32_t>(subtract_in_place, smallest, 1) == std::numeric_limits<std::int32_t>::max());
  BOOST_TEST(apply<std::int16_t>(multiply_in_place, 300, 300) == static_cast<std::int16_t>(90000));
  BOOST_TEST(int{apply<std::uint8_t>(subtract_in_place, 1, 2)} == 255);
  BOOST_TEST(apply<std::int32_t>(divide_in_place, smallest, -1) == smallest);
}

BOOST_AUTO_TEST_CASE(integer_division_truncates_and_refuses_zero) {
  BOOST_TEST(apply<std::int32_t>(divide_in_place, -7, 2) == -3);
  auto x = tensor::of({1, 2, 3});
  BOOST_CHECK_EXCEPTION(divide_in_place(x, tensor::of({1, 0, 0})), invalid_argument_error,
                        [](const error& e) { return e.message().find("element 1") != std::string::npos; });
  BOOST_CHECK((list<int>(x) == std::vector{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_pass_nan_on) {
  BOOST_TEST(apply(minimum_in_place, 1.0, 2.0) == 1.0);
  BOOST_TEST(apply(maximum_in_place, 1.0, 2.0) == 2.0);
  BOOST_TEST(apply<std::int8_t>(maximum_in_place, -3, -5) == -3);
  for (const auto operation : {minimum_in_place, maximum_in_place}) {
    BOOST_TEST(std::isnan(apply(operation, not_a_number, 1.0)));
    BOOST_TEST(std::isnan(apply(operation, 1.0, not_a_number)));
  }
}

BOOST_AUTO_TEST_CASE(half_precision_computes_in_float) {
  auto x = tensor::scalar(float16{2048.0f});
  add_in_place(x, tensor::scalar(float16{1.0f}));
  BOOST_TEST(static_cast<float>(x.item<float16>()) == 2048.0f);  // 2049 is a tie between 2048 and 2050
  auto y = tensor::scalar(bfloat16{3.0f});
  scale_in_place(y, 0.5);
  BOOST_TEST(static_cast<float>(y.item<bfloat16>()) == 1.5f);
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_fit_are_named_and_nothing_is_written) {
  auto x = tensor::of({1.0f, 2.0f});
  BOOST_CHECK_EXCEPTION(add_in_place(x, tensor::of({1.0f, 2.0f, 3.0f})), invalid_argument_error, [](const error& e) {
    return e.message().find("(2,)") != std::string::npos && e.message().find("(3,)") != std::string::npos;
  });
  BOOST_CHECK_EXCEPTION(add_in_place(x, tensor::of({1, 2})), invalid_argument_error, [](const error& e) {
    return e.message().find("float32") != std::string::npos && e.message().find("int32") != std::string::npos;
  });
  // One element along an axis is not broadcast; only a scalar is.
  BOOST_CHECK_THROW(add_in_place(x, tensor::of({1.0f})), invalid_argument_error);
  BOOST_CHECK_THROW(axpy_in_place(x, 1, tensor::scalar(1.0f)), invalid_argument_error);
  auto scalar = tensor::scalar(1.0f);
  BOOST_CHECK_THROW(add_in_place(scalar, x), invalid_argument_error);
  auto flags = tensor::of({true});
  BOOST_CHECK_THROW(add_in_place(flags, flags), invalid_argument_error);
  BOOST_CHECK_THROW(scale_in_place(flags, 2), invalid_argument_error);
  BOOST_CHECK((list<float>(x) == std::vector{1.0f, 2.0f}));
}

BOOST_AUTO_TEST_CASE(scaling_multiplies_by_a_number) {
  auto x = tensor::of({1.0f, -2.0f});
  scale_in_place(x, 0.5);
  BOOST_CHECK((list<float>(x) == std::vector{0.5f, -1.0f}));
  auto n = tensor::of<std::int8_t>({100, -100, 5});
  scale_in_place(n, 1.5);
  BOOST_CHECK((list<std::int8_t>(n) == std::vector<std::int8_t>{127, -128, 7}));
}

BOOST_AUTO_TEST_CASE(axpy_adds_a_multiple) {
  auto y = tensor::of({1.0, 2.0});
  axpy_in_place(y, -0.5, tensor::of({2.0, 8.0}));
  BOOST_CHECK((list<double>(y) == std::vector{0.0, -2.0}));
  auto n = tensor::of({1, 2});
  BOOST_CHECK_THROW(axpy_in_place(n, 2, n), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(fill_replaces_every_element_without_touching_other_holders) {
  auto x = tensor::of({1.0f, 2.0f, 3.0f});
  const auto other = x;
  auto part = x.slice(1, 3);
  fill(part, 7);
  fill(x, -1);
  BOOST_CHECK((list<float>(x) == std::vector{-1.0f, -1.0f, -1.0f}));
  BOOST_CHECK((list<float>(part) == std::vector{7.0f, 7.0f}));
  BOOST_CHECK((list<float>(other) == std::vector{1.0f, 2.0f, 3.0f}));
}

BOOST_AUTO_TEST_CASE(cast_truncates_and_saturates) {
  const auto x = tensor::of({1.9, -1.9, 300.0, -300.0, infinity, -infinity, not_a_number});
  BOOST_CHECK((list<std::int8_t>(cast(x, dtype::int8)) == std::vector<std::int8_t>{1, -1, 127, -128, 127, -128, 0}));
  BOOST_CHECK((list<std::uint8_t>(cast(x, dtype::uint8)) == std::vector<std::uint8_t>{1, 0, 255, 0, 255, 0, 0}));
  const auto limits = list<std::int64_t>(cast(tensor::of({1e30f, -1e30f, 0x1p62f}), dtype::int64));
  BOOST_TEST(limits[0] == std::numeric_limits<std::int64_t>::max());
  BOOST_TEST(limits[1] == std::numeric_limits<std::int64_t>::min());
  BOOST_TEST(limits[2] == std::int64_t{1} << 62);
}

BOOST_AUTO_TEST_CASE(cast_keeps_what_both_types_can_hold) {
  for (const auto from : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8, dtype::int16,
                          dtype::int32, dtype::int64, dtype::uint8, dtype::boolean}) {
    for (const auto to : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8, dtype::int16,
                          dtype::int32, dtype::int64, dtype::uint8, dtype::boolean}) {
      const auto x = cast(cast(tensor::of({0, 1}), from), to);
      BOOST_CHECK(x.get_dtype() == to);
      BOOST_CHECK((list<int>(cast(x, dtype::int32)) == std::vector{0, 1}));
    }
  }
  BOOST_CHECK((list<bool>(cast(tensor::of({0.5f, 0.0f, -0.0f}), dtype::boolean)) == std::vector{true, false, false}));
  const auto x = tensor::of({1.0f});
  BOOST_TEST(cast(x, dtype::float32).bytes().data() == x.bytes().data());
}

BOOST_AUTO_TEST_SUITE_END()
