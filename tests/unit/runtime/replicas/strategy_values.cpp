// What becomes of the values of many replicas: reduce, gather, local_results, and the example programs of TensorFlow's
// DistributedValues page; examples/reference/semantics.md 1.2, 1.3, 3.3, 3.5.
#include "replica_test.hpp"

#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strategy_values_suite)

namespace {

const std::vector replica_counts{1, 2, 4};

/// replica i has `make(i)`.
template <class F>
auto of_replicas(int count, F make) {
  std::vector<std::decay_t<std::invoke_result_t<F&, int>>> values;
  for (auto i = 0; i < count; ++i) values.push_back(make(i));
  return per_replica{std::move(values)};
}

tensor matrix(std::int64_t rows, std::int64_t columns, std::initializer_list<float> elements) {
  return tensor::of(shape{rows, columns}, elements);
}

// --- reduce ---------------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(sum_and_mean_are_those_over_all_replicas, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto numbers = of_replicas(count, [](int i) { return static_cast<float>(i + 1); });
  const auto total = static_cast<float>(count * (count + 1) / 2);
  BOOST_TEST(strategy.reduce(reduce_op::sum, numbers) == total);
  BOOST_TEST(strategy.reduce(reduce_op::mean, numbers) == total / static_cast<float>(count));
  const auto pairs = of_replicas(count, [](int i) { return tensor::of({static_cast<float>(i + 1), 10.0f}); });
  BOOST_TEST(elements<float>(strategy.reduce(reduce_op::sum, pairs)) ==
             (std::vector{total, 10.0f * static_cast<float>(count)}));
  BOOST_TEST(elements<float>(strategy.reduce(reduce_op::mean, pairs)) ==
             (std::vector{total / static_cast<float>(count), 10.0f}));
}

BOOST_AUTO_TEST_CASE(a_reduction_leaves_the_replicas_values_as_they_were) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto values = of_replicas(2, [](int i) { return tensor::of({i + 1}); });
  BOOST_TEST(elements<int>(strategy.reduce(reduce_op::sum, values)) == std::vector{3});
  BOOST_TEST(elements<int>(values[0]) == std::vector{1});
}

BOOST_AUTO_TEST_CASE(the_operation_may_be_named_in_any_case) {
  const mirrored_strategy strategy{replica_devices(2)};
  const per_replica<float> values{{1.0f, 2.0f}};
  BOOST_TEST(strategy.reduce("sum", values) == 3.0f);
  BOOST_TEST(strategy.reduce("SUM", values) == 3.0f);
  BOOST_TEST(strategy.reduce("Mean", values) == 1.5f);
  require_error<invalid_argument_error>("median", [&] { strategy.reduce("median", values); });
}

BOOST_AUTO_TEST_CASE(other_operations_than_sum_and_mean_are_refused_with_a_hint_where_they_are) {
  const mirrored_strategy strategy{replica_devices(2)};
  for (const auto op : {reduce_op::min, reduce_op::max, reduce_op::product})
    require_error<invalid_argument_error>("replica_context::all_reduce", [&] {
      strategy.reduce(op, per_replica<float>{{1.0f, 2.0f}});
    });
}

BOOST_AUTO_TEST_CASE(with_axes_each_replicas_tensor_is_reduced_along_these_too) {
  const mirrored_strategy strategy{replica_devices(2)};
  const per_replica<tensor> values{{matrix(2, 3, {1, 2, 3, 4, 5, 6}), matrix(2, 3, {10, 20, 30, 40, 50, 60})}};
  const auto reduced = [&](reduce_op op, const reduction_axes& axes) {
    return elements<float>(strategy.reduce(op, values, axes));
  };
  BOOST_TEST(reduced(reduce_op::sum, 0) == (std::vector{55.0f, 77.0f, 99.0f}));
  BOOST_TEST(reduced(reduce_op::sum, -1) == (std::vector{66.0f, 165.0f}));
  BOOST_TEST(reduced(reduce_op::sum, {0, 1}) == std::vector{231.0f});
  BOOST_TEST(reduced(reduce_op::sum, {-1, 0}) == std::vector{231.0f});
  BOOST_TEST(reduced(reduce_op::mean, 1) == (std::vector{11.0f, 27.5f}));
  BOOST_TEST(reduced(reduce_op::mean, {0, 1}) == std::vector{19.25f});
  BOOST_TEST(reduced(reduce_op::sum, std::vector<int>{}) == reduced(reduce_op::sum, std::vector<int>{}));
  BOOST_TEST(strategy.reduce(reduce_op::sum, values, std::vector<int>{}).get_shape() == (shape{2, 3}));
}

BOOST_AUTO_TEST_CASE(axes_that_do_not_exist_or_are_named_twice_are_refused) {
  const mirrored_strategy strategy{replica_devices(2)};
  const per_replica<tensor> values{{tensor::of({1.0f}), tensor::of({2.0f})}};
  require_error<out_of_range_error>("1", [&] { strategy.reduce(reduce_op::sum, values, 1); });
  require_error<out_of_range_error>("-2", [&] { strategy.reduce(reduce_op::mean, values, -2); });
  require_error<invalid_argument_error>("0", [&] { strategy.reduce(reduce_op::sum, values, reduction_axes{0, 0}); });
  require_error<out_of_range_error>("0", [&] { strategy.reduce(reduce_op::sum, per_replica<float>{{1, 2}}, 0); });
}

BOOST_AUTO_TEST_CASE(the_mean_of_uneven_last_batches_is_that_of_all_elements) {
  const mirrored_strategy strategy{replica_devices(3)};
  const per_replica<tensor> losses{
      {tensor::of({1.0f, 2.0f, 3.0f}), tensor::of({9.0f}), tensor::zeros(dtype::float32, {0})}};
  BOOST_TEST(strategy.reduce(reduce_op::sum, losses, 0).item<float>() == 15.0f);
  BOOST_TEST(strategy.reduce(reduce_op::mean, losses, 0).item<float>() == 3.75f);
  require_error<invalid_argument_error>("replica 1 has a float32 of shape (1,)",
                                        [&] { strategy.reduce(reduce_op::mean, losses); });
}

BOOST_AUTO_TEST_CASE(the_mean_of_integers_is_a_true_division) {
  const mirrored_strategy strategy{replica_devices(2)};
  const per_replica<tensor> odd{{tensor::of({1, 2}), tensor::of({2, 5})}};
  const auto mean = strategy.reduce(reduce_op::mean, odd);
  BOOST_TEST((mean.get_dtype() == dtype::float32));
  BOOST_TEST(elements<float>(mean) == (std::vector{1.5f, 3.5f}));
  BOOST_TEST(strategy.reduce(reduce_op::mean, odd, 0).item<float>() == 2.5f);
  require_error<invalid_argument_error>("the mean of integers is no integer", [&] {
    strategy.reduce(reduce_op::mean, per_replica<int>{{1, 2}});
  });
}

BOOST_AUTO_TEST_CASE(the_mean_of_small_integers_does_not_overflow_on_its_way) {
  const mirrored_strategy strategy{replica_devices(2)};
  const per_replica<tensor> pixels{{tensor::of<std::uint8_t>({200, 255}), tensor::of<std::uint8_t>({100, 255})}};
  BOOST_TEST(elements<float>(strategy.reduce(reduce_op::mean, pixels)) == (std::vector{150.0f, 255.0f}));
  BOOST_TEST(strategy.reduce(reduce_op::mean, pixels, 0).item<float>() == 202.5f);
}

BOOST_AUTO_TEST_CASE(means_divide_and_do_not_multiply_by_a_rounded_fraction) {
  const mirrored_strategy strategy{replica_devices(3)};
  BOOST_TEST(strategy.reduce(reduce_op::mean, per_replica<float>{{1.0f, 2.0f, 2.0f}}) == 5.0f / 3.0f);
}

template <class Half>
void half_types_are_added_in_float_and_rounded_once(float large, float spacing) {
  const mirrored_strategy strategy{replica_devices(3)};
  const auto number = [](float x) { return tensor::full(shape{2}, Half{x}); };
  const auto first = [](const tensor& x) { return static_cast<float>(elements<Half>(x)[0]); };
  // Half of the space between neighbours is lost if it is added alone.
  const auto uneven = of_replicas(3, [&](int i) { return number(i == 0 ? large : spacing / 2); });
  BOOST_TEST(first(strategy.reduce(reduce_op::sum, uneven)) == large + spacing);
  BOOST_TEST(first(strategy.reduce(reduce_op::sum, uneven, 0)) == 2 * large + 2 * spacing);
  const auto greatest = of_replicas(3, [&](int) { return number(60000.0f); });
  BOOST_TEST(first(strategy.reduce(reduce_op::mean, greatest)) == static_cast<float>(Half{60000.0f}));
  BOOST_TEST(first(strategy.reduce(reduce_op::mean, greatest, 0).reshape(shape{1})) ==
             static_cast<float>(Half{60000.0f}));
  const auto v = strategy.variable("v", number(0.0f), {.aggregation = variable_aggregation::sum});
  strategy.run([&](const tensor& x) { v.assign(x); }, uneven);
  BOOST_TEST(first(v.read()) == large + spacing);
  const auto mean = strategy.variable("mean", number(0.0f), {.aggregation = variable_aggregation::mean});
  strategy.run([&](const tensor& x) { mean.assign_add(x); }, greatest);
  BOOST_TEST(first(mean.read()) == static_cast<float>(Half{60000.0f}));
  const auto total = strategy.variable(
      "total", number(0.0f),
      {.synchronization = variable_synchronization::on_read, .aggregation = variable_aggregation::sum});
  strategy.run([&](const tensor& x) { total.assign_add(x); }, uneven);
  BOOST_TEST(first(total.read()) == large + spacing);
}

BOOST_AUTO_TEST_CASE(half_types_are_added_in_float32_and_rounded_once) {
  half_types_are_added_in_float_and_rounded_once<float16>(2048.0f, 2.0f);
  half_types_are_added_in_float_and_rounded_once<bfloat16>(256.0f, 2.0f);
}

BOOST_AUTO_TEST_CASE(integer_sums_wrap_around_and_their_means_are_float32_of_the_exact_sum) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto most = of_replicas(2, [](int) { return tensor::of({std::numeric_limits<std::int32_t>::max()}); });
  BOOST_TEST(elements<std::int32_t>(strategy.reduce(reduce_op::sum, most))[0] == -2);
  const auto mean = strategy.reduce(reduce_op::mean, most);
  BOOST_TEST((mean.get_dtype() == dtype::float32));
  BOOST_TEST(elements<float>(mean)[0] == 2147483648.0f);
}

BOOST_AUTO_TEST_CASE(values_of_different_dtype_are_named) {
  const mirrored_strategy strategy{replica_devices(2)};
  require_error<invalid_argument_error>("replica 1 has a int32", [&] {
    strategy.reduce(reduce_op::sum, per_replica<tensor>{{tensor::of({1.0f}), tensor::of({1})}});
  });
}

BOOST_DATA_TEST_CASE(of_values_that_all_replicas_have_alike_the_mean_is_the_value_and_the_sum_ambiguous, replica_counts,
                     count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const mirrored<float> same{std::vector(static_cast<std::size_t>(count), 3.0f)};
  BOOST_TEST(strategy.reduce(reduce_op::mean, same) == 3.0f);
  BOOST_TEST(strategy.reduce(reduce_op::mean, 3) == 3);
  BOOST_TEST(strategy.reduce(reduce_op::sum, 0) == 0);
  BOOST_TEST(elements<float>(strategy.reduce(reduce_op::sum, tensor::zeros(dtype::float32, {2}))) ==
             (std::vector{0.0f, 0.0f}));
  if (count == 1) {
    BOOST_TEST(strategy.reduce(reduce_op::sum, same) == 3.0f);
    BOOST_TEST(strategy.reduce(reduce_op::sum, 3) == 3);
  } else {
    require_error<invalid_argument_error>("pass a per_replica value", [&] { strategy.reduce(reduce_op::sum, same); });
    require_error<invalid_argument_error>("pass a per_replica value", [&] { strategy.reduce(reduce_op::sum, 3); });
    for (const auto& not_all_zero : {tensor::of({0.0f, -1.0f}), tensor::of({0.0f, 1.0f}), tensor::scalar(-3)})
      require_error<invalid_argument_error>("pass a per_replica value",
                                            [&] { strategy.reduce(reduce_op::sum, not_all_zero); });
  }
}

BOOST_AUTO_TEST_CASE(of_values_that_all_replicas_have_alike_axes_are_reduced_too) {
  const mirrored_strategy strategy{replica_devices(2)};
  BOOST_TEST(strategy.reduce(reduce_op::mean, tensor::of({1.0f, 2.0f, 6.0f}), 0).item<float>() == 3.0f);
  require_error<invalid_argument_error>("times the number of replicas", [&] {
    strategy.reduce(reduce_op::sum, tensor::of({1.0f, 2.0f}), 0);
  });
}

BOOST_AUTO_TEST_CASE(structures_are_reduced_leaf_by_leaf) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto results = strategy.run([] {
    const auto id = static_cast<float>(replica_context::current().replica_id_in_sync_group());
    return std::tuple{id, std::vector{tensor::of({id, 1.0f})},
                      std::map<std::string, std::pair<int, double>>{{"a", {2, id}}}};
  });
  const auto [number, list, map] = strategy.reduce(reduce_op::sum, results);
  BOOST_TEST(number == 1.0f);
  BOOST_TEST(elements<float>(list.at(0)) == (std::vector{1.0f, 2.0f}));
  BOOST_TEST(map.at("a").first == 4);
  BOOST_TEST(map.at("a").second == 1.0);
}

BOOST_AUTO_TEST_CASE(the_default_strategy_reduces_one_value_to_itself) {
  BOOST_TEST(get_strategy().state()->is_default());
  const strategy alone{strategy_state::default_strategy()};
  const auto scope = alone.scope();
  BOOST_TEST(alone.reduce(reduce_op::sum, per_replica<float>{{3.0f}}) == 3.0f);
  BOOST_TEST(alone.reduce(reduce_op::sum, 3.0f) == 3.0f);
}

// --- gather ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(gather_puts_all_replicas_tensors_one_after_another_along_the_axis) {
  const mirrored_strategy strategy{replica_devices(2)};
  const per_replica<tensor> values{{matrix(1, 2, {1, 2}), matrix(2, 2, {3, 4, 5, 6})}};
  BOOST_TEST(strategy.gather(values, 0).get_shape() == (shape{3, 2}));
  BOOST_TEST(elements<float>(strategy.gather(values, -2)) == (std::vector{1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}));
  const per_replica<tensor> wide{{matrix(2, 1, {1, 2}), matrix(2, 2, {3, 4, 5, 6})}};
  BOOST_TEST(elements<float>(strategy.gather(wide, 1)) == (std::vector{1.0f, 3.0f, 4.0f, 2.0f, 5.0f, 6.0f}));
  BOOST_TEST(strategy.gather(wide, -1).get_shape() == (shape{2, 3}));
}

BOOST_AUTO_TEST_CASE(gather_refuses_scalars_other_differences_and_unknown_axes) {
  for (const auto count : {1, 2}) {
    const mirrored_strategy strategy{replica_devices(count)};
    require_error<invalid_argument_error>(
        "()", [&] { strategy.gather(of_replicas(count, [](int i) { return tensor::scalar(i); }), 0); });
    require_error<out_of_range_error>(
        "1", [&] { strategy.gather(of_replicas(count, [](int i) { return tensor::of({i}); }), 1); });
  }
  const mirrored_strategy strategy{replica_devices(2)};
  require_error<invalid_argument_error>("(1, 3)", [&] {
    strategy.gather(per_replica<tensor>{{matrix(1, 2, {1, 2}), matrix(1, 3, {3, 4, 5})}}, 0);
  });
  require_error<invalid_argument_error>("int32", [&] {
    strategy.gather(per_replica<tensor>{{tensor::of({1.0f}), tensor::of({1})}}, 0);
  });
}

BOOST_AUTO_TEST_CASE(gather_leaves_what_is_not_distributed_unchanged) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto plain = tensor::of({1.0f, 2.0f});
  BOOST_TEST(strategy.gather(plain, 0).bitwise_equal(plain));
  BOOST_TEST(strategy.gather(mirrored<tensor>{{plain, plain}}, 0).bitwise_equal(plain));
}

BOOST_AUTO_TEST_CASE(structures_are_gathered_leaf_by_leaf) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto [list, number] =
      strategy.gather(std::tuple{std::vector{of_replicas(2, [](int i) { return tensor::of({i}); })}, 7}, 0);
  BOOST_TEST(elements<int>(list.at(0)) == (std::vector{0, 1}));
  BOOST_TEST(number == 7);
}

// --- local results --------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(local_results_have_one_element_for_each_replica_of_distributed_values, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto numbers = of_replicas(count, [](int i) { return i; });
  BOOST_TEST(strategy.local_results(numbers) == all(numbers));
  BOOST_TEST(strategy.local_results(mirrored<int>{std::vector(static_cast<std::size_t>(count), 5)}) ==
             std::vector(static_cast<std::size_t>(count), 5));
  const auto variable = strategy.variable("v", 1.0f);
  BOOST_TEST((strategy.local_results(variable) == variable.components()));
}

BOOST_AUTO_TEST_CASE(local_results_of_what_is_not_distributed_are_a_single_one) {
  const mirrored_strategy strategy{replica_devices(3)};
  BOOST_TEST(strategy.local_results(5) == std::vector{5});
  BOOST_TEST(strategy.local_results(std::string{"text"}) == std::vector<std::string>{"text"});
  BOOST_TEST((strategy.local_results(std::tuple{1, 2}) == std::vector{std::tuple{1, 2}}));
}

BOOST_AUTO_TEST_CASE(local_results_of_a_structure_are_a_structure_for_each_replica) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto results = strategy.local_results(
      std::tuple{per_replica<int>{{1, 2}}, std::vector{per_replica<int>{{3, 4}}}, std::string{"same"}});
  BOOST_TEST((results == std::vector{std::tuple{1, std::vector{3}, std::string{"same"}},
                                     std::tuple{2, std::vector{4}, std::string{"same"}}}));
}

BOOST_AUTO_TEST_CASE(values_of_replicas_that_do_not_exist_are_refused) {
  require_error<out_of_range_error>("no value of replica 2", [] { per_replica<int>{{1, 2}}[2]; });
  require_error<invalid_argument_error>("at least one replica", [] { per_replica<int>{{}}; });
}

// --- distribute_values_from_function --------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_function_makes_the_value_of_each_replica, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto values = strategy.distribute_values_from_function([&](const value_context& context) {
    BOOST_TEST(context.num_replicas_in_sync == count);
    return context.replica_id_in_sync_group * 10;
  });
  static_assert(std::is_same_v<decltype(values), const per_replica<int>>);
  BOOST_TEST(values.size() == static_cast<std::size_t>(count));
  BOOST_TEST(values[values.size() - 1] == (count - 1) * 10);
  BOOST_TEST(all(strategy.run([](int mine) { return mine + 1; }, values))[0] == 1);
}

BOOST_AUTO_TEST_CASE(values_from_a_function_are_wrapped_even_if_they_are_structures) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto values = strategy.distribute_values_from_function([](const value_context&) { return std::vector{1, 2}; });
  static_assert(std::is_same_v<decltype(values), const per_replica<std::vector<int>>>);
  require_error<failed_precondition_error>("call it before run()", [&] {
    strategy.run([&] { strategy.distribute_values_from_function([](const value_context&) { return 1; }); });
  });
}

// --- the example programs of TensorFlow's DistributedValues page -----------------------------------------------------

BOOST_AUTO_TEST_SUITE(the_examples_of_distributed_values)

struct two_replicas {
  mirrored_strategy strategy{replica_devices(2)};
  dataset<tensor> numbers = from_tensor_slices(tensor::of({5.0f, 6.0f, 7.0f, 8.0f})).batch(2);
  per_replica<tensor> first = strategy.distribute_dataset(numbers).iterate().next();
};

BOOST_FIXTURE_TEST_CASE(created_from_a_distributed_dataset, two_replicas) {
  BOOST_TEST(first.size() == 2);
  const auto iterator = strategy.distribute_dataset(numbers).iterate();
  iterator.next();
  BOOST_TEST(elements<float>(iterator.next()[1]) == std::vector{8.0f});
  BOOST_TEST(!iterator.next_or_end().has_value());
}

BOOST_FIXTURE_TEST_CASE(returned_by_run, two_replicas) {
  const per_replica<int> ids = strategy.run([] { return replica_context::current().replica_id_in_sync_group(); });
  BOOST_TEST(all(ids) == (std::vector{0, 1}));
}

BOOST_FIXTURE_TEST_CASE(as_input_into_run, two_replicas) {
  const auto updated = strategy.run(
      [](tensor input) {
        add_in_place(input, tensor::full(input.get_shape(), 1.0f).copy_to(input.device()));
        return input;
      },
      first);
  BOOST_TEST(elements<float>(updated[0]) == std::vector{6.0f});
  BOOST_TEST(elements<float>(updated[1]) == std::vector{7.0f});
  BOOST_TEST(elements<float>(first[0]) == std::vector{5.0f});
}

BOOST_FIXTURE_TEST_CASE(reduced_to_one_value, two_replicas) {
  BOOST_TEST(strategy.reduce(reduce_op::sum, first, 0).item<float>() == 11.0f);
}

BOOST_FIXTURE_TEST_CASE(inspected_as_local_results, two_replicas) {
  const auto results = strategy.local_results(first);
  BOOST_REQUIRE(results.size() == 2);
  BOOST_TEST(results[0].get_shape() == shape{1});
  BOOST_TEST((results[0].get_dtype() == dtype::float32));
  BOOST_TEST(elements<float>(results[0]) == std::vector{5.0f});
  BOOST_TEST(elements<float>(results[1]) == std::vector{6.0f});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
