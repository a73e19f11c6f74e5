// Sums and means of a device against those of the host. The values are small integers, whose sums are exact in any
// order.
#include "support/test_devices.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/reduction.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(reduction_on_devices_suite)

namespace {

tensor small_integers(dtype type, const shape& extents) {
  auto x = tensor::uninitialised(dtype::int32, extents);
  auto next = std::int32_t{0};
  for (auto& each : x.mutable_values<std::int32_t>()) each = next++ % 7;
  return cast(x, type);
}

struct reduction_case {
  shape extents;
  reduction_axes axes;
};

// The shapes take every way through the kernels: one thread or one block per result, with and without chunks.
std::vector<reduction_case> cases() {
  return {{{}, reduction_axes::all()},
          {{7}, reduction_axes::all()},
          {{1'000'003}, reduction_axes::all()},
          {{100'000, 3}, 0},
          {{3, 100'000}, 1},
          {{5000, 64}, 0},
          {{64, 5000}, 1},
          {{20, 30, 40}, 1},
          {{20, 30, 40}, {0, 2}},
          {{20, 30, 40}, {}},
          {{0, 4}, 0},
          {{4, 0}, 0}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_and_means_of_a_device_are_those_of_the_host) {
  for (const auto type : {dtype::float32, dtype::float64, dtype::int8, dtype::int64, dtype::uint8}) {
    for (const auto& [extents, axes] : cases()) {
      BOOST_TEST_CONTEXT(to_string(type) << " " << extents.to_string()) {
        const auto x = small_integers(type, extents);
        const auto there = x.copy_to(test_device());
        BOOST_TEST(reduce_sum(there, axes).copy_to("CPU:0").bitwise_equal(reduce_sum(x, axes)));
        if (x.element_count() > 0) {
          BOOST_TEST(reduce_mean(there, axes).copy_to("CPU:0").bitwise_equal(reduce_mean(x, axes)));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(equal_inputs_give_equal_bits) {
  auto x = tensor::uninitialised(dtype::float32, {1'000'003});
  auto next = 0.0f;
  for (auto& each : x.mutable_values<float>()) each = next += 0.1f;
  const auto there = x.copy_to(test_device());
  const auto first = reduce_sum(there).copy_to("CPU:0");
  for (auto round = 0; round < 5; ++round) BOOST_TEST(reduce_sum(there).copy_to("CPU:0").bitwise_equal(first));
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_are_found_anywhere) {
  const auto x = tensor::of(shape{2, 3}, {3.0f, -1.0f, 2.0f, 0.5f, 7.0f, 2.0f}).copy_to(test_device());
  const auto rows = reduce_min(x, 1);
  BOOST_TEST(rows.device() == test_device());
  BOOST_TEST(rows.copy_to("CPU:0").bitwise_equal(tensor::of({-1.0f, 0.5f})));
  BOOST_TEST(reduce_max(x, 0).copy_to("CPU:0").bitwise_equal(tensor::of({3.0f, 7.0f, 2.0f})));
  BOOST_TEST(reduce_max(x).item<float>() == 7.0f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
