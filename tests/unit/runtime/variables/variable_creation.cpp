// How variables of replica strategies come into being, inside and outside of run(), and how structures carry them;
// examples/reference/semantics.md 1.2, 3.4 and 4 (8).
#include "unit/runtime/replicas/replica_test.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <tuple>

namespace troupe {

BOOST_AUTO_TEST_SUITE(variable_creation_suite)

namespace {

const std::vector replica_counts{1, 2, 4};

constexpr auto on_read = variable_synchronization::on_read;

const std::vector aggregations{variable_aggregation::none, variable_aggregation::sum, variable_aggregation::mean,
                               variable_aggregation::only_first_replica};

/// Replica i's number.
float own() { return static_cast<float>(replica_context::current().replica_id_in_sync_group() + 1); }

std::vector<float> copies(const distributed_variable& v) {
  std::vector<float> result;
  for (const auto& each : v.components()) result.push_back(each.item<float>());
  return result;
}

std::vector<float> alike(int count, float value) { return std::vector(static_cast<std::size_t>(count), value); }

BOOST_DATA_TEST_CASE(a_variable_has_a_copy_on_each_device_with_the_initial_value, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto v = strategy.variable("v", tensor::of({1.0f, 2.0f}));
  BOOST_TEST(v.name() == "v");
  BOOST_TEST(v.devices() == replica_devices(count));
  BOOST_TEST(v.get_shape() == shape{2});
  BOOST_TEST((v.get_dtype() == dtype::float32));
  BOOST_TEST(v.components().size() == static_cast<std::size_t>(count));
  for (const auto& each : v.components()) BOOST_TEST(each.read().bitwise_equal(v.read()));
}

BOOST_AUTO_TEST_CASE(automatic_synchronization_is_on_write_and_only_those_are_trainable_by_default) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto automatic = strategy.variable("a", 0.0f);
  BOOST_TEST((automatic.synchronization() == variable_synchronization::on_write));
  BOOST_TEST((automatic.aggregation() == variable_aggregation::none));
  BOOST_TEST(automatic.trainable());
  BOOST_TEST(!strategy.variable("b", 0.0f, {.synchronization = on_read}).trainable());
  BOOST_TEST(strategy.variable("c", 0.0f, {.synchronization = on_read, .trainable = true}).trainable());
  BOOST_TEST(!strategy.variable("d", 0.0f, {.trainable = false}).trainable());
}

BOOST_AUTO_TEST_CASE(unknown_synchronizations_and_aggregations_are_refused) {
  const mirrored_strategy strategy{replica_devices(1)};
  require_error<invalid_argument_error>("choose automatic, on_write or on_read", [&] {
    strategy.variable("v", 0.0f, {.synchronization = static_cast<variable_synchronization>(9)});
  });
  require_error<invalid_argument_error>("choose none, sum, mean or only_first_replica", [&] {
    strategy.variable("v", 0.0f, {.aggregation = static_cast<variable_aggregation>(9)});
  });
}

BOOST_AUTO_TEST_CASE(names_are_unique_while_their_variables_exist) {
  const mirrored_strategy strategy{replica_devices(2)};
  {
    const auto v = strategy.variable("v", 0.0f);
    require_error<already_exists_error>("already has a variable \"v\"", [&] { strategy.variable("v", 1.0f); });
    const auto w = strategy.variable("w", 0.0f);
    const auto existing = strategy.variables();
    BOOST_REQUIRE(existing.size() == 2);
    BOOST_TEST((existing[0] == v && existing[1] == w));
  }
  BOOST_TEST(strategy.variables().empty());
  BOOST_TEST(strategy.variable("v", 1.0f).item<float>() == 1.0f);
}

BOOST_DATA_TEST_CASE(replicas_that_make_a_variable_get_the_same_one_with_the_first_ones_value, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto [v, value] = strategy.run([&] {
    const auto made = strategy.variable("v", own());
    return std::tuple{made, made.item<float>()};
  });
  static_assert(std::is_same_v<decltype(v), const distributed_variable>);
  BOOST_TEST(copies(v) == alike(count, 1.0f));
  BOOST_TEST(all(value) == alike(count, 1.0f));
  BOOST_TEST(strategy.variables().size() == 1);
}

BOOST_AUTO_TEST_CASE(replicas_must_make_the_same_variables_in_the_same_order) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto refused = [&]<class Error>(std::type_identity<Error>, const std::string& part, auto make) {
    require_error<Error>(part,
                         [&] { strategy.run([&] { make(replica_context::current().replica_id_in_sync_group()); }); });
    BOOST_TEST(strategy.variables().empty());
  };
  constexpr std::type_identity<invalid_argument_error> differ;
  refused(differ, "mismatching name: replica 1 makes the variable \"b\" where replica 0 makes \"a\"",
          [&](int id) { strategy.variable(id == 0 ? "a" : "b", 0.0f); });
  refused(differ, "shape (2,)", [&](int id) { strategy.variable("a", tensor::zeros(dtype::float32, {id + 1})); });
  refused(differ, "int32", [&](int id) { strategy.variable("a", id == 0 ? tensor::scalar(0.0f) : tensor::scalar(0)); });
  refused(differ, "another synchronization, aggregation or trainable",
          [&](int id) { strategy.variable("a", 0.0f, {.aggregation = aggregations[static_cast<std::size_t>(id)]}); });
  refused(std::type_identity<failed_precondition_error>{}, "different number of merge_call() calls", [&](int id) {
    if (id == 0) strategy.variable("a", 0.0f);
  });
  refused(std::type_identity<already_exists_error>{}, "\"a\"", [&](int) {
    const auto first = strategy.variable("a", 0.0f);
    strategy.variable("a", 0.0f);
  });
}

BOOST_AUTO_TEST_CASE(a_central_storage_strategy_keeps_one_copy_for_all_replicas) {
  const central_storage_strategy strategy{replica_devices(3), "CPU:0"};
  const auto v = strategy.variable("v", 1.0f, {.aggregation = variable_aggregation::sum});
  BOOST_TEST(v.devices() == std::vector<std::string>{"CPU:0"});
  strategy.run([&] {
    expect(v.item<float>() == 1.0f);
    v.assign_add(tensor::scalar(own()));
    expect(v.item<float>() == 7.0f);
  });
  v.assign(2.0f);
  BOOST_TEST(copies(v) == std::vector{2.0f});
  const auto sums =
      strategy.variable("sums", 0.0f, {.synchronization = on_read, .aggregation = variable_aggregation::sum});
  BOOST_TEST(sums.devices() == replica_devices(3));
}

// --- in structures --------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(handles_and_components_regroup_to_their_variable) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = strategy.variable("v", 1.0f);
  const auto w = strategy.variable("w", 2.0f);
  const auto [handle, list, component] = strategy.run(
      [](const distributed_variable& passed) {
        const auto id = static_cast<std::size_t>(replica_context::current().replica_id_in_sync_group());
        return std::tuple{passed, std::vector{passed}, passed.components()[id]};
      },
      v);
  BOOST_TEST((handle == v && list.at(0) == v && component == v));
  require_error<invalid_argument_error>("another variable (\"w\" instead of \"v\")", [&] {
    strategy.run([&] { return replica_context::current().replica_id_in_sync_group() == 0 ? v : w; });
  });
  require_error<invalid_argument_error>("another variable (\"w\" instead of \"v\")", [&] {
    strategy.run([&] { return (replica_context::current().replica_id_in_sync_group() == 0 ? v : w).components()[0]; });
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
