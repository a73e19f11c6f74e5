#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/reduction.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(reduction_suite)

namespace {

template <class T>
std::vector<T> list(const tensor& x) {
  const auto values = x.values<T>();
  return {values.begin(), values.end()};
}

tensor counting(const shape& extents, dtype type = dtype::int32) {
  auto result = tensor::zeros(dtype::int32, extents);
  auto next = 0;
  for (auto& each : result.mutable_values<std::int32_t>()) each = next++;
  return cast(result, type);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sum_runs_over_one_axis_some_axes_or_all) {
  const auto x = counting({2, 3, 4});
  BOOST_TEST(reduce_sum(x).item<std::int32_t>() == 276);
  BOOST_CHECK((reduce_sum(x).get_shape() == shape{}));
  BOOST_CHECK((list<std::int32_t>(reduce_sum(x, 2)) == std::vector{6, 22, 38, 54, 70, 86}));
  BOOST_CHECK((list<std::int32_t>(reduce_sum(x, -2)) == std::vector{12, 15, 18, 21, 48, 51, 54, 57}));
  BOOST_CHECK((list<std::int32_t>(reduce_sum(x, {0, 2})) == std::vector{60, 92, 124}));
  BOOST_CHECK((list<std::int32_t>(reduce_sum(x, std::vector{1, 0})) == std::vector{60, 66, 72, 78}));
  BOOST_CHECK((reduce_sum(x, {0, 2}).get_shape() == shape{3}));
  BOOST_TEST(reduce_sum(x, std::vector<int>{}).bitwise_equal(x));
}

BOOST_AUTO_TEST_CASE(a_sum_of_many_floats_is_accurate) {
  BOOST_TEST(reduce_sum(tensor::full({1 << 20}, 0.1f)).item<float>() == static_cast<float>((1 << 20) * double{0.1f}));
  const auto half = reduce_sum(tensor::full({10000}, float16{1.0f}));
  BOOST_TEST(static_cast<float>(half.item<float16>()) == 10000.0f);
}

BOOST_AUTO_TEST_CASE(integer_sums_wrap_around) {
  BOOST_TEST(int{reduce_sum(tensor::of<std::int8_t>({127, 1})).item<std::int8_t>()} == -128);
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  BOOST_TEST(reduce_sum(tensor::of<std::int64_t>({largest, -1, 1, -largest})).item<std::int64_t>() == 0);
}

BOOST_AUTO_TEST_CASE(a_mean_of_integers_is_a_float) {
  const auto mean = reduce_mean(counting({2, 2}), 0);
  BOOST_CHECK((list<float>(mean) == std::vector{1.0f, 2.0f}));
  BOOST_TEST(reduce_mean(tensor::of({1, 2})).item<float>() == 1.5f);
  BOOST_TEST(reduce_mean(tensor::of({1.0, 2.0})).item<double>() == 1.5);
  BOOST_CHECK(reduce_mean(counting({3}, dtype::bfloat16)).get_dtype() == dtype::bfloat16);
  BOOST_CHECK(reduce_mean(counting({3}), std::vector<int>{}).get_dtype() == dtype::float32);
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_find_the_ends) {
  const auto x = tensor::of<std::int64_t>({2, 3}, {5, -7, 3, 2, 9, -1});
  BOOST_CHECK((list<std::int64_t>(reduce_min(x, 1)) == std::vector<std::int64_t>{-7, -1}));
  BOOST_CHECK((list<std::int64_t>(reduce_max(x, 0)) == std::vector<std::int64_t>{5, 9, 3}));
  BOOST_TEST(reduce_max(x).item<std::int64_t>() == 9);
  BOOST_TEST(int{reduce_max(tensor::of<std::int8_t>({-128, -128})).item<std::int8_t>()} == -128);
  const auto infinity = std::numeric_limits<float>::infinity();
  BOOST_TEST(reduce_max(tensor::of({-infinity, -infinity})).item<float>() == -infinity);
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_pass_nan_on_from_any_place) {
  for (auto place = std::size_t{0}; place < 40; ++place) {
    auto x = counting({40}, dtype::float32);
    x.mutable_values<float>()[place] = std::nanf("");
    BOOST_TEST(std::isnan(reduce_min(x).item<float>()));
    BOOST_TEST(std::isnan(reduce_max(x).item<float>()));
  }
}

BOOST_AUTO_TEST_CASE(every_numeric_dtype_reduces) {
  for (const auto type : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8, dtype::int16,
                          dtype::int32, dtype::int64, dtype::uint8}) {
    const auto x = counting({16}, type);
    BOOST_TEST(cast(reduce_sum(x), dtype::int32).item<int>() == 120);
    BOOST_TEST(cast(reduce_min(x), dtype::int32).item<int>() == 0);
    BOOST_TEST(cast(reduce_max(x), dtype::int32).item<int>() == 15);
    BOOST_TEST(cast(reduce_mean(x), dtype::float32).item<float>() == 7.5f);
  }
  BOOST_CHECK_THROW(reduce_sum(tensor::of({true})), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(reducing_nothing_has_a_defined_answer) {
  const auto empty = tensor::zeros(dtype::float32, {0, 3});
  BOOST_CHECK((list<float>(reduce_sum(empty, 0)) == std::vector{0.0f, 0.0f, 0.0f}));
  BOOST_TEST(std::isnan(reduce_mean(empty).item<float>()));
  BOOST_CHECK_THROW(reduce_max(empty), invalid_argument_error);
  BOOST_CHECK_THROW(reduce_min(empty, 0), invalid_argument_error);
  BOOST_CHECK((reduce_max(empty, 1).get_shape() == shape{0}));
}

BOOST_AUTO_TEST_CASE(axes_that_do_not_exist_or_come_twice_are_refused) {
  const auto x = counting({2, 3});
  BOOST_CHECK_THROW(reduce_sum(x, 2), out_of_range_error);
  BOOST_CHECK_THROW(reduce_mean(x, -3), out_of_range_error);
  BOOST_CHECK_THROW(reduce_max(x, {0, -2}), invalid_argument_error);
  BOOST_CHECK_THROW(reduce_sum(tensor::scalar(1), 0), out_of_range_error);
}

BOOST_AUTO_TEST_SUITE_END()
