#include <troupe/device/base/dtype.hpp>
#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <limits>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(dtype_suite)

namespace {

constexpr auto infinity = std::numeric_limits<float>::infinity();
constexpr auto not_a_number = std::numeric_limits<float>::quiet_NaN();

// The nearest binary16 found by trying all of them: slow, and obviously right.
std::uint16_t nearest_float16(float value) {
  auto best = std::uint16_t{0};
  auto best_distance = std::numeric_limits<double>::infinity();
  for (auto bits = 0u; bits <= 0x7c00; ++bits) {
    float16 candidate;
    candidate.bits = static_cast<std::uint16_t>(bits);
    // Infinity stands where the next finite value would be: at 65536.
    const auto magnitude = bits == 0x7c00 ? 65536.0 : static_cast<double>(static_cast<float>(candidate));
    const auto distance = std::abs(std::abs(static_cast<double>(value)) - magnitude);
    if (distance < best_distance || (distance == best_distance && bits % 2 == 0)) {
      best = candidate.bits;
      best_distance = distance;
    }
  }
  return static_cast<std::uint16_t>(best | (std::signbit(value) ? 0x8000 : 0));
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_dtype_has_a_size_and_a_name_that_reads_back) {
  const std::pair<dtype, std::size_t> sizes[] = {
      {dtype::float32, 4}, {dtype::float64, 8}, {dtype::float16, 2}, {dtype::bfloat16, 2}, {dtype::int8, 1},
      {dtype::int16, 2},   {dtype::int32, 4},   {dtype::int64, 8},   {dtype::uint8, 1},    {dtype::boolean, 1}};
  for (const auto& [type, size] : sizes) {
    BOOST_TEST(size_bytes(type) == size);
    BOOST_CHECK(dtype_from_string(to_string(type)) == type);
    visit_dtype(type, [expected = type]<class T>(std::type_identity<T>) { BOOST_CHECK(dtype_of<T> == expected); });
  }
  BOOST_CHECK(dtype_from_string("bool") == dtype::boolean);
}

BOOST_AUTO_TEST_CASE(a_number_that_is_no_dtype_is_refused) {
  const auto damaged = static_cast<dtype>(77);
  BOOST_CHECK_THROW(size_bytes(damaged), invalid_argument_error);
  BOOST_TEST(to_string(damaged) == "dtype(77)");
  BOOST_CHECK_THROW(visit_dtype(damaged, [](auto) {}), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_answered_with_the_known_ones) {
  BOOST_CHECK_EXCEPTION(dtype_from_string("float"), invalid_argument_error, [](const error& e) {
    return e.message().find("\"float\"") != std::string::npos && e.message().find("float32") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(every_float16_survives_the_way_through_float) {
  for (auto bits = 0u; bits <= 0xffff; ++bits) {
    float16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    const auto wide = static_cast<float>(half);
    if (std::isnan(wide)) {
      BOOST_REQUIRE((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0);
      BOOST_REQUIRE(float16{wide}.bits == (bits | 0x200));
    } else {
      BOOST_REQUIRE(float16{wide}.bits == bits);
    }
  }
}

BOOST_AUTO_TEST_CASE(float16_rounds_to_the_nearest_value_and_ties_to_even) {
  for (const auto value :
       {0.0f, -0.0f, 1.0f, 1.0f + 0x1p-11f, 1.0f + 0x3p-11f, 0x1p-25f, 0x1.1p-25f, 0x1p-24f, 0x1.8p-24f, 0x1.ffcp-15f,
        0x1.ffep-15f, 0.1f, -3.14159f, 65504.0f, 65519.0f, 65520.0f, 1e9f, -infinity}) {
    BOOST_TEST(float16{value}.bits == nearest_float16(value), value);
  }
  BOOST_TEST(std::isnan(static_cast<float>(float16{not_a_number})));
  BOOST_TEST(std::isnan(static_cast<float>(float16{std::bit_cast<float>(0x7f800001u)})));
}

BOOST_AUTO_TEST_CASE(bfloat16_rounds_to_the_nearest_value_and_ties_to_even) {
  BOOST_TEST(bfloat16{1.0f}.bits == 0x3f80);
  BOOST_TEST(bfloat16{std::bit_cast<float>(0x3f808000u)}.bits == 0x3f80);
  BOOST_TEST(bfloat16{std::bit_cast<float>(0x3f808001u)}.bits == 0x3f81);
  BOOST_TEST(bfloat16{std::bit_cast<float>(0x3f818000u)}.bits == 0x3f82);
  BOOST_TEST(bfloat16{std::numeric_limits<float>::max()}.bits == 0x7f80);
  BOOST_TEST(static_cast<float>(bfloat16{-infinity}) == -infinity);
  BOOST_TEST(std::isnan(static_cast<float>(bfloat16{std::bit_cast<float>(0x7f800001u)})));
  BOOST_TEST(static_cast<float>(bfloat16{-2.5f}) == -2.5f);
}

BOOST_AUTO_TEST_SUITE_END()
