// Writing some rows of a variable of replicas, in every context; examples/reference/semantics.md 3.4 (scatter_*).
#include "unit/runtime/replicas/replica_test.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <map>

namespace troupe {

static std::ostream& boost_test_print_type(std::ostream& out, variable_aggregation x) { return out << to_string(x); }

BOOST_AUTO_TEST_SUITE(variable_scatter_suite)

namespace {

const std::vector replica_counts{1, 2, 4};

const std::vector aggregations{variable_aggregation::none, variable_aggregation::sum, variable_aggregation::mean,
                               variable_aggregation::only_first_replica};

const std::vector all_kinds{scatter_update::update, scatter_update::add, scatter_update::sub, scatter_update::mul,
                            scatter_update::div,    scatter_update::min, scatter_update::max};

using rows = std::vector<std::int64_t>;

float own() { return static_cast<float>(replica_context::current().replica_id_in_sync_group() + 1); }

/// Shape (3, 1): 10, 20, 30.
distributed_variable three_rows(const strategy& of, variable_aggregation aggregation) {
  return of.variable("rows", tensor::of(shape{3, 1}, {10.0f, 20.0f, 30.0f}), {.aggregation = aggregation});
}

tensor column(std::initializer_list<float> x) { return tensor::of(shape{static_cast<std::int64_t>(x.size()), 1}, x); }

/// What all copies have; they must agree.
std::vector<float> content(const distributed_variable& v) {
  for (const auto& each : v.components()) BOOST_TEST(each.read().bitwise_equal(v.components()[0].read()));
  return elements<float>(v.components()[0].read());
}

BOOST_DATA_TEST_CASE(across_replicas_every_kind_writes_rows_of_all_copies_with_any_aggregation,
                     boost::unit_test::data::make(replica_counts) * aggregations, count, aggregation) {
  const mirrored_strategy strategy{replica_devices(count)};
  const std::map<scatter_update, std::vector<float>> expected{
      {scatter_update::update, {4, 20, 15}}, {scatter_update::add, {14, 20, 45}}, {scatter_update::sub, {6, 20, 15}},
      {scatter_update::mul, {40, 20, 450}},  {scatter_update::div, {2.5, 20, 2}}, {scatter_update::min, {4, 20, 15}},
      {scatter_update::max, {10, 20, 30}}};
  for (const auto kind : all_kinds) {
    const distributed_variable v = three_rows(strategy, aggregation);
    v.scatter(kind, rows{2, 0}, column({15, 4}));
    BOOST_TEST(content(v) == expected.at(kind));
  }
}

BOOST_AUTO_TEST_CASE(rows_that_repeat_are_written_one_after_another) {
  const mirrored_strategy strategy{replica_devices(2)};
  const std::map<scatter_update, float> expected{
      {scatter_update::update, 4}, {scatter_update::add, 26}, {scatter_update::sub, 14}, {scatter_update::mul, 160},
      {scatter_update::div, 2.5},  {scatter_update::min, 2},  {scatter_update::max, 20}};
  for (const auto kind : all_kinds) {
    const auto v = three_rows(strategy, variable_aggregation::none);
    v.scatter(kind, rows{1, 1}, column({2, 4}));
    BOOST_TEST(content(v)[1] == expected.at(kind));
  }
}

BOOST_DATA_TEST_CASE(in_replica_context_the_rows_of_all_replicas_are_aggregated_first, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto scattered = [&](scatter_update kind, variable_aggregation aggregation) {
    const distributed_variable v = three_rows(strategy, aggregation);
    // All replicas write row 0, and each one more.
    strategy.run([&] { v.scatter(kind, rows{0, own() == 1 ? 1 : 2}, column({own(), 1})); });
    return content(v);
  };
  const auto n = static_cast<float>(count);
  const auto sum = n * (n + 1) / 2;
  const auto others = n - 1;
  BOOST_TEST(scattered(scatter_update::add, variable_aggregation::sum) == (std::vector{10 + sum, 21.0f, 30 + others}));
  BOOST_TEST(scattered(scatter_update::sub, variable_aggregation::sum) == (std::vector{10 - sum, 19.0f, 30 - others}));
  BOOST_TEST(scattered(scatter_update::add, variable_aggregation::mean) ==
             (std::vector{10 + sum / n, 20 + 1 / n, 30 + others / n}));
  auto product = 1.0f;
  for (auto i = 1.0f; i <= n; ++i) product *= i;
  BOOST_TEST(scattered(scatter_update::mul, variable_aggregation::sum)[0] == 10 * product);
  BOOST_TEST(scattered(scatter_update::div, variable_aggregation::sum)[0] == 10 / product,
             boost::test_tools::tolerance(1e-5f));
  for (const auto kind : all_kinds) BOOST_TEST(scattered(kind, variable_aggregation::only_first_replica)[2] == 30.0f);
  BOOST_TEST(scattered(scatter_update::update, variable_aggregation::only_first_replica) ==
             (std::vector{1.0f, 1.0f, 30.0f}));
  BOOST_TEST(scattered(scatter_update::min, variable_aggregation::only_first_replica) ==
             (std::vector{1.0f, 1.0f, 30.0f}));
  BOOST_TEST(scattered(scatter_update::max, variable_aggregation::only_first_replica) ==
             (std::vector{10.0f, 20.0f, 30.0f}));
}

BOOST_AUTO_TEST_CASE(replicas_may_bring_different_numbers_of_rows) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = three_rows(strategy, variable_aggregation::sum);
  strategy.run([&] {
    if (own() == 1)
      v.scatter(scatter_update::add, rows{0, 1}, column({1, 2}));
    else
      v.scatter(scatter_update::add, rows{}, tensor::zeros(dtype::float32, {0, 1}));
  });
  BOOST_TEST(content(v) == (std::vector{11.0f, 22.0f, 30.0f}));
}

BOOST_AUTO_TEST_CASE(choices_in_replica_context_need_only_first_replica_and_nothing_works_without_aggregation) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto scattered = [&](const distributed_variable& v, scatter_update kind) {
    return [&, kind] { strategy.run([&] { v.scatter(kind, rows{0}, column({1})); }); };
  };
  for (const auto aggregation : {variable_aggregation::sum, variable_aggregation::mean}) {
    const auto v = three_rows(strategy, aggregation);
    for (const auto kind : {scatter_update::update, scatter_update::min, scatter_update::max})
      require_error<unimplemented_error>("only with only_first_replica", scattered(v, kind));
  }
  const auto none = three_rows(strategy, variable_aggregation::none);
  for (const auto kind : all_kinds) require_error<invalid_argument_error>("has no aggregation", scattered(none, kind));
  BOOST_TEST(content(none) == (std::vector{10.0f, 20.0f, 30.0f}));
}

BOOST_AUTO_TEST_CASE(what_is_synchronised_on_read_takes_no_rows_in_any_context) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = strategy.variable(
      "v", tensor::of({1.0f}),
      {.synchronization = variable_synchronization::on_read, .aggregation = variable_aggregation::sum});
  const auto scatter = [&] { v.scatter(scatter_update::add, rows{0}, tensor::of({1.0f})); };
  require_error<unimplemented_error>("synchronised on read", scatter);
  require_error<unimplemented_error>("synchronised on read", [&] { strategy.run([&] { scatter(); }); });
}

BOOST_AUTO_TEST_CASE(inside_update_rows_of_that_copy_only_are_written) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = three_rows(strategy, variable_aggregation::none);
  strategy.extended().update(
      v, [&](const variable_component&, float x) { v.scatter(scatter_update::update, rows{0}, column({x})); },
      mirrored<float>{{1.0f, 2.0f}});
  BOOST_TEST(elements<float>(v.components()[0].read())[0] == 1.0f);
  BOOST_TEST(elements<float>(v.components()[1].read())[0] == 2.0f);
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_fit_are_refused_and_change_nothing) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = three_rows(strategy, variable_aggregation::only_first_replica);
  const auto refused = [&]<class Error>(std::type_identity<Error>, const std::string& part, const rows& which,
                                        const tensor& x) {
    for (const auto kind : all_kinds) {
      require_error<Error>(part, [&] { v.scatter(kind, which, x); });
      require_error<Error>(part, [&] { strategy.run([&] { v.scatter(kind, which, x); }); });
      BOOST_TEST(content(v) == (std::vector{10.0f, 20.0f, 30.0f}));
    }
  };
  constexpr std::type_identity<invalid_argument_error> misfit;
  constexpr std::type_identity<out_of_range_error> outside;
  // The first row would do.
  refused(outside, "3", rows{0, 3}, column({1, 1}));
  refused(outside, "-1", rows{0, -1}, column({1, 1}));
  refused(misfit, "(1, 1)", rows{0, 1}, column({1}));
  refused(misfit, "(2, 1)", rows{0}, column({1, 2}));
  refused(misfit, "(1, 2)", rows{0}, tensor::of(shape{1, 2}, {1.0f, 2.0f}));
  require_error<invalid_argument_error>("has no rows", [&] {
    strategy.variable("scalar", 1.0f).scatter(scatter_update::add, rows{0}, tensor::of({1.0f}));
  });
  refused(misfit, "float64", rows{0}, tensor::of(shape{1, 1}, {1.0}));
}

BOOST_AUTO_TEST_CASE(a_division_by_zero_among_integer_rows_changes_nothing) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = strategy.variable("v", tensor::of({8, 8}));
  const auto divide = [&] { v.scatter(scatter_update::div, rows{0, 1}, tensor::of({2, 0})); };
  require_error<invalid_argument_error>("integer 0", divide);
  for (const auto& each : v.components()) BOOST_TEST(elements<int>(each.read()) == (std::vector{8, 8}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
