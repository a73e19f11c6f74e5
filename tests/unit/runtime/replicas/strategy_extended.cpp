// What strategy_extended does with values and variables: reduce, broadcast, update; examples/reference/semantics.md 1.4
// with the decisions of 5.1. Placement, containers, input and attributes are in strategy_placement.cpp.
#include "replica_test.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <tuple>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strategy_extended_suite)

namespace {

const std::vector replica_counts{1, 2, 4};

using devices = std::vector<std::string>;

int my_id() { return replica_context::current().replica_id_in_sync_group(); }

std::vector<float> copies(const distributed_variable& v) {
  std::vector<float> result;
  for (const auto& each : v.components()) result.push_back(each.item<float>());
  return result;
}

/// Replica i has i + 1.
per_replica<float> counting(int count) {
  std::vector<float> values;
  for (auto i = 0; i < count; ++i) values.push_back(static_cast<float>(i + 1));
  return per_replica<float>{values};
}

// --- call_for_each_replica ------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(call_for_each_replica_runs_the_seeds_example) {
  const mirrored_strategy distribution{replica_devices(2)};
  const auto scope = distribution.scope();
  // Sums the values across replicas.
  const auto merge = [](troupe::strategy& here, const per_replica<int>& three_plus_replica_id) {
    auto sum = 0;
    for (const auto each : here.local_results(three_plus_replica_id)) sum += each;
    return sum;
  };
  const auto function = [&](int three) {
    const auto v = three + my_id();
    const auto s = replica_context::current().merge_call(merge, v);
    return s + v;
  };
  const auto merged_results = distribution.extended().call_for_each_replica(function, 3);
  BOOST_TEST(distribution.local_results(merged_results) == (std::vector{10, 11}));
}

BOOST_AUTO_TEST_CASE(call_for_each_replica_is_refused_in_replica_context) {
  const mirrored_strategy strategy{replica_devices(2)};
  require_error<failed_precondition_error>("run() needs cross-replica context", [&] {
    strategy.run([&] { strategy.extended().call_for_each_replica([] {}); });
  });
}

// --- reduce_to ------------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(reduce_to_mirrors_the_reduction_over_its_destinations, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto extended = strategy.extended();
  const auto values = counting(count);
  const auto sum = static_cast<float>(count * (count + 1)) / 2;
  // A device,
  BOOST_TEST(all(extended.reduce_to(reduce_op::sum, values, "CPU:0")) == std::vector{sum});
  BOOST_TEST(all(extended.reduce_to(reduce_op::mean, values, std::string{"CPU:7"})) ==
             std::vector{sum / static_cast<float>(count)});
  // several,
  BOOST_TEST(all(extended.reduce_to(reduce_op::sum, values, destinations{devices{"CPU:0", "CPU:1", "CPU:2"}})) ==
             std::vector(3, sum));
  // where a variable lies, which is not assigned,
  const auto v = strategy.variable("v", -1.0f);
  BOOST_TEST(all(extended.reduce_to(reduce_op::sum, values, v)) == std::vector(static_cast<std::size_t>(count), sum));
  BOOST_TEST(v.item<float>() == -1.0f);
  // and where the value itself lies.
  const mirrored<float> everywhere = extended.reduce_to(reduce_op::sum, values, values);
  BOOST_TEST(all(everywhere) == std::vector(static_cast<std::size_t>(count), sum));
  BOOST_TEST(everywhere == sum);
}

BOOST_AUTO_TEST_CASE(reduce_to_takes_aggregations_as_operations_but_none) {
  const mirrored_strategy strategy{replica_devices(3)};
  const auto reduced = [&](variable_aggregation aggregation) {
    return strategy.extended().reduce_to(aggregation, per_replica<float>{{1, 2, 6}}, "CPU:0").get();
  };
  BOOST_TEST(reduced(variable_aggregation::sum) == 9.0f);
  BOOST_TEST(reduced(variable_aggregation::mean) == 3.0f);
  BOOST_TEST(reduced(variable_aggregation::only_first_replica) == 1.0f);
  require_error<invalid_argument_error>("expected sum, mean or only_first_replica",
                                        [&] { reduced(variable_aggregation::none); });
}

BOOST_AUTO_TEST_CASE(reduce_to_of_mirrored_values_is_their_mean_but_no_sum) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto extended = strategy.extended();
  const mirrored<float> same{{3.0f, 3.0f}};
  BOOST_TEST(extended.reduce_to(reduce_op::mean, same, "CPU:0").get() == 3.0f);
  require_error<invalid_argument_error>("times the number of replicas",
                                        [&] { extended.reduce_to(reduce_op::sum, same, "CPU:0"); });
}

BOOST_AUTO_TEST_CASE(reduce_to_refuses_bad_destinations_operations_hints_and_contexts) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto extended = strategy.extended();
  const auto values = counting(2);
  const auto to = [&](const auto& where) {
    return [&] { extended.reduce_to(reduce_op::sum, values, destinations{where}); };
  };
  require_error<invalid_argument_error>("names no device", to(std::string{"/job:worker"}));
  require_error<invalid_argument_error>("", to(std::string{}));
  require_error<invalid_argument_error>("there is no destination", to(devices{}));
  require_error<invalid_argument_error>("takes sum or mean, not max",
                                        [&] { extended.reduce_to(reduce_op::max, values, "CPU:0"); });
  require_error<invalid_argument_error>(
      "bytes_per_pack", [&] { extended.reduce_to(reduce_op::sum, values, "CPU:0", {.bytes_per_pack = -1}); });
  require_error<invalid_argument_error>("replica 1 has a float32 of shape (2,)", [&] {
    extended.reduce_to(reduce_op::sum, per_replica<tensor>{{tensor::of({1.0f}), tensor::of({1.0f, 2.0f})}}, "CPU:0");
  });
  require_error<failed_precondition_error>("reduce_to needs cross-replica context", [&] {
    strategy.run([&] { extended.reduce_to(reduce_op::sum, values, "CPU:0"); });
  });
}

// --- batch_reduce_to, broadcast_to ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(batch_reduce_to_gives_the_results_in_the_order_of_the_pairs) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = strategy.variable("v", tensor::of({0.0f, 0.0f}));
  const per_replica<tensor> ones{{tensor::of({1.0f, 1.0f}), tensor::of({3.0f, 5.0f})}};
  const per_replica<tensor> scalars{{tensor::scalar(1), tensor::scalar(2)}};
  const auto results = strategy.extended().batch_reduce_to<tensor>(reduce_op::sum, {{ones, v}, {scalars, "CPU:0"}});
  BOOST_REQUIRE(results.size() == 2);
  BOOST_TEST(results[0].size() == 2);
  BOOST_TEST(elements<float>(results[0][1]) == (std::vector{4.0f, 6.0f}));
  BOOST_TEST(results[1].size() == 1);
  BOOST_TEST(results[1].get().item<int>() == 3);
  BOOST_TEST(strategy.extended().batch_reduce_to<tensor>(reduce_op::mean, {}).empty());
  require_error<failed_precondition_error>("cross-replica context", [&] {
    strategy.run([&] { strategy.extended().batch_reduce_to<tensor>(reduce_op::sum, {{ones, v}}); });
  });
}

BOOST_AUTO_TEST_CASE(broadcast_to_mirrors_a_value_over_its_destinations) {
  const mirrored_strategy strategy{replica_devices(3)};
  const auto extended = strategy.extended();
  const auto v = strategy.variable("v", 0.0f);
  BOOST_TEST(all(extended.broadcast_to(5, v)) == std::vector(3, 5));
  const auto everywhere = extended.broadcast_to(tensor::of({1.0f, 2.0f}), destinations{extended.worker_devices()});
  BOOST_TEST(everywhere.size() == 3);
  BOOST_TEST(elements<float>(everywhere[2]) == (std::vector{1.0f, 2.0f}));
  BOOST_TEST(all(extended.broadcast_to(5, "CPU:1")) == std::vector{5});
  // Each replica gets its own copy.
  BOOST_TEST(all(strategy.run([](const tensor& x) { return x.element_count(); }, everywhere)) ==
             (std::vector<std::int64_t>{2, 2, 2}));
  require_error<failed_precondition_error>("broadcast_to needs cross-replica context",
                                           [&] { strategy.run([&] { extended.broadcast_to(5, v); }); });
}

// --- update ---------------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(update_calls_the_function_for_each_copy_with_its_own_arguments, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto v = strategy.variable("v", 1.0f);
  const auto everywhere = strategy.extended().broadcast_to(2.0f, v);
  devices seen;
  const auto results = strategy.extended().update(
      v,
      [&](const variable_component& copy, float mine, const std::tuple<float, int>& nested, float plain) {
        seen.push_back(copy.device());
        BOOST_TEST((execution_context::current().kind == context_kind::update));
        copy.assign_add(mine * std::get<0>(nested) * plain);
        return copy.item<float>();
      },
      everywhere, std::tuple{everywhere, 7}, 10.0f);
  static_assert(std::is_same_v<decltype(results), const mirrored<float>>);
  BOOST_TEST(seen == replica_devices(count));
  BOOST_TEST(all(results) == std::vector(static_cast<std::size_t>(count), 41.0f));
  BOOST_TEST(copies(v) == all(results));
}

BOOST_AUTO_TEST_CASE(update_ungrouped_gives_a_list_with_the_result_of_each_copy) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = strategy.variable("v", 1.0f);
  const auto names =
      strategy.extended().update<grouping::ungrouped>(v, [](const variable_component& copy) { return copy.device(); });
  static_assert(std::is_same_v<decltype(names), const devices>);
  BOOST_TEST(names == replica_devices(2));
  strategy.extended().update(v, [](const variable_component& copy) { copy.assign(3.0f); });
  BOOST_TEST(copies(v) == std::vector(2, 3.0f));
}

BOOST_AUTO_TEST_CASE(update_is_refused_for_variables_of_others_and_in_replica_context) {
  const mirrored_strategy strategy{replica_devices(2)};
  const mirrored_strategy other{replica_devices(2)};
  const auto v = other.variable("v", 1.0f);
  const auto nothing = [](const variable_component&) {};
  require_error<invalid_argument_error>("variable \"v\" belongs to another strategy",
                                        [&] { strategy.extended().update(v, nothing); });
  require_error<failed_precondition_error>("get there with merge_call",
                                           [&] { other.run([&] { other.extended().update(v, nothing); }); });
  // Two values for three copies.
  const mirrored_strategy three{replica_devices(3)};
  const auto w = three.variable("w", 1.0f);
  require_error<out_of_range_error>("no value of replica 2", [&] {
    three.extended().update(
        w, [](const variable_component&, float) {}, mirrored<float>{{1.0f, 2.0f}});
  });
}

BOOST_AUTO_TEST_CASE(update_non_slot_calls_the_function_for_each_device) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto extended = strategy.extended();
  const auto where = extended.non_slot_devices({});
  auto calls = 0;
  const auto results = extended.update_non_slot(
      where,
      [&](float mine, int plain) {
        BOOST_TEST((execution_context::current().kind == context_kind::update));
        ++calls;
        return mine * static_cast<float>(plain);
      },
      mirrored<float>{{2.0f, 2.0f}}, 3);
  static_assert(std::is_same_v<decltype(results), const mirrored<float>>);
  BOOST_TEST(calls == 2);
  BOOST_TEST(results == 6.0f);
  const auto list = extended.update_non_slot<grouping::ungrouped>(where, [] { return 1; });
  BOOST_TEST(list == (std::vector{1, 1}));
  require_error<invalid_argument_error>("there is no destination", [&] { extended.update_non_slot({}, [] {}); });
  require_error<failed_precondition_error>("cross-replica context",
                                           [&] { strategy.run([&] { extended.update_non_slot(where, [] {}); }); });
}

/// The pattern of TensorFlow's StrategyExtended page: gradients are merged, summed to their variables' devices, and
/// applied there.
BOOST_DATA_TEST_CASE(the_standard_update_pattern_keeps_all_copies_equal, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const std::vector variables{strategy.variable("weights", tensor::of({1.0f, 2.0f})),
                              strategy.variable("bias", tensor::of({0.5f}))};
  const auto apply = [](troupe::strategy& here, const std::vector<per_replica<tensor>>& gradients,
                        const std::vector<distributed_variable>& targets) {
    std::vector<std::pair<per_replica<tensor>, destinations>> pairs;
    for (auto i = std::size_t{0}; i < targets.size(); ++i) pairs.emplace_back(gradients[i], targets[i]);
    const auto sums = here.extended().batch_reduce_to(reduce_op::sum, pairs);
    for (auto i = std::size_t{0}; i < targets.size(); ++i)
      here.extended().update(
          targets[i], [](const auto& copy, const tensor& x) { copy.assign_sub(x); }, sums[i]);
  };
  strategy.run([&] {
    const auto mine = static_cast<float>(my_id() + 1);
    replica_context::current().merge_call(apply, std::vector{tensor::of({mine, 0.0f}), tensor::of({2 * mine})},
                                          variables);
  });
  const auto sum = static_cast<float>(count * (count + 1)) / 2;
  for (const auto& copy : variables[0].components())
    BOOST_TEST(elements<float>(copy.read()) == (std::vector{1.0f - sum, 2.0f}));
  for (const auto& copy : variables[1].components())
    BOOST_TEST(elements<float>(copy.read()) == std::vector{0.5f - 2 * sum});
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
