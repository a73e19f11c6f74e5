// Scattered writes to variables of replicas: what several replicas' rows become, and what they touch.
#include "replica_test.hpp"
#include "support/refusal.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(variable_rows_suite)

namespace {

using rows = std::vector<std::int64_t>;

distributed_variable make(const mirrored_strategy& strategy, const tensor& initial,
                          variable_aggregation aggregation = variable_aggregation::none) {
  return strategy.variable("v", initial, {.aggregation = aggregation});
}

template <tensor_element T>
std::vector<std::vector<T>> copies(const distributed_variable& v) {
  std::vector<std::vector<T>> result;
  for (const auto& each : v.components()) result.push_back(elements<T>(each.read()));
  return result;
}

}  // namespace

BOOST_DATA_TEST_CASE(the_mean_of_scattered_rows_divides_by_the_number_of_replicas, (std::vector{1, 2, 3, 5}), count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto v = make(strategy, tensor::of({10.0f, 20.0f, 30.0f}), variable_aggregation::mean);
  // All write row 0, and each, over and over, one of the others.
  strategy.run([&] {
    const auto id = replica_context::current().replica_id_in_sync_group();
    v.scatter(scatter_update::add, rows{0, 1 + id % 2}, tensor::of({static_cast<float>(id + 1), 1.0f}));
  });
  const auto n = static_cast<float>(count);
  const auto odd = static_cast<float>(count / 2);
  const auto sum = n * (n + 1) / 2;
  for (const auto& each : copies<float>(v)) {
    BOOST_TEST(each[0] == 10.0f + sum / n, boost::test_tools::tolerance(1e-6f));
    BOOST_TEST(each[1] == 20.0f + (n - odd) / n, boost::test_tools::tolerance(1e-6f));
    BOOST_TEST(each[2] == 30.0f + odd / n, boost::test_tools::tolerance(1e-6f));
  }
}

BOOST_AUTO_TEST_CASE(the_sum_of_scattered_rows_is_that_of_all_replicas_and_the_first_replicas_rows_are_its_own) {
  const auto scattered = [](variable_aggregation aggregation) {
    const mirrored_strategy strategy{replica_devices(3)};
    const auto v = make(strategy, tensor::of({10.0f, 20.0f}), aggregation);
    strategy.run([&] {
      const auto id = replica_context::current().replica_id_in_sync_group();
      v.scatter(scatter_update::sub, rows{1}, tensor::of({static_cast<float>(id + 1)}));
    });
    return copies<float>(v);
  };
  for (const auto& each : scattered(variable_aggregation::sum)) BOOST_TEST(each == (std::vector{10.0f, 14.0f}));
  for (const auto& each : scattered(variable_aggregation::only_first_replica))
    BOOST_TEST(each == (std::vector{10.0f, 19.0f}));
}

BOOST_AUTO_TEST_CASE(rows_that_come_several_times_are_changed_one_after_another) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = make(strategy, tensor::of(shape{3, 2}, {8.0f, 6.0f, 1.0f, 1.0f, 24.0f, 12.0f}));
  const rows given{2, 0, 2, 2};
  const auto x = tensor::of(shape{4, 2}, {2.0f, 2.0f, 4.0f, 3.0f, 3.0f, 2.0f, 2.0f, 3.0f});
  const auto after = [&](scatter_update kind) {
    v.scatter(kind, given, x);
    const auto both = copies<float>(v);
    BOOST_TEST(both[0] == both[1]);
    return both[0];
  };
  BOOST_TEST(after(scatter_update::div) == (std::vector{2.0f, 2.0f, 1.0f, 1.0f, 2.0f, 1.0f}));
  BOOST_TEST(after(scatter_update::mul) == (std::vector{8.0f, 6.0f, 1.0f, 1.0f, 24.0f, 12.0f}));
  BOOST_TEST(after(scatter_update::min) == (std::vector{4.0f, 3.0f, 1.0f, 1.0f, 2.0f, 2.0f}));
  BOOST_TEST(after(scatter_update::max) == (std::vector{4.0f, 3.0f, 1.0f, 1.0f, 3.0f, 3.0f}));
  BOOST_TEST(after(scatter_update::update) == (std::vector{4.0f, 3.0f, 1.0f, 1.0f, 2.0f, 3.0f}));
}

BOOST_AUTO_TEST_CASE(when_one_row_cannot_be_divided_none_is) {
  const mirrored_strategy strategy{replica_devices(1)};
  const auto v = make(strategy, tensor::of({6, 8}));
  BOOST_CHECK_THROW(v.scatter(scatter_update::div, rows{0, 1}, tensor::of({2, 0})), invalid_argument_error);
  BOOST_TEST(elements<int>(v.read()) == (std::vector{6, 8}));
}

BOOST_AUTO_TEST_CASE(a_scattered_row_leaves_the_rest_of_a_variable_where_it_is) {
  const mirrored_strategy strategy{replica_devices(1)};
  const auto v = make(strategy, tensor::full(shape{1000, 4}, 1.0f));
  const auto address = [&] { return v.components()[0].read().data(); };
  const auto before = address();
  for (const auto kind : {scatter_update::update, scatter_update::add, scatter_update::sub, scatter_update::mul,
                          scatter_update::div, scatter_update::min, scatter_update::max}) {
    v.scatter(kind, rows{7, 7}, tensor::full(shape{2, 4}, 2.0f));
    BOOST_TEST(address() == before);
  }
}

BOOST_AUTO_TEST_CASE(half_types_are_rounded_once_however_often_a_row_comes) {
  const mirrored_strategy strategy{replica_devices(1)};
  // One alone is lost in 2048, whose neighbours are 2 apart.
  const auto v = make(strategy, tensor::full(shape{1}, float16{2048.0f}));
  v.scatter(scatter_update::add, rows{0, 0, 0, 0}, tensor::full(shape{4}, float16{1.0f}));
  BOOST_TEST(static_cast<float>(elements<float16>(v.read())[0]) == 2052.0f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
