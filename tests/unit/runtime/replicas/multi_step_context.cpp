// run_steps_on_iterator, and what its steps leave in their multi_step_context;
// examples/reference/semantics.md 1.4.
#include "replica_test.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <map>

namespace troupe {

BOOST_AUTO_TEST_SUITE(multi_step_context_suite)

namespace {

struct two_replicas {
  mirrored_strategy strategy{replica_devices(2)};
  strategy_extended extended = strategy.extended();
  /// Replica i gets row i of each pair: (1, 2), (3, 4), (5, 6).
  distributed_dataset<tensor> input =
      strategy.distribute_dataset(from_tensor_slices(tensor::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f})).batch(2));
  dataset_iterator<per_replica<tensor>> iterator = input.iterate();
};

float only(const tensor& x) { return elements<float>(x).at(0); }

BOOST_FIXTURE_TEST_SUITE(steps_on_an_iterator, two_replicas)

BOOST_AUTO_TEST_CASE(run_once_by_default_and_otherwise_as_often_as_asked_each_with_the_next_input) {
  std::vector<float> seen;
  const auto step = [&](multi_step_context&, const per_replica<tensor>& inputs) {
    BOOST_TEST(in_cross_replica_context());
    seen.push_back(only(inputs[0]));
  };
  extended.run_steps_on_iterator(step, iterator);
  BOOST_TEST(seen == std::vector{1.0f});
  extended.run_steps_on_iterator(step, iterator, 2);
  BOOST_TEST(seen == (std::vector{1.0f, 3.0f, 5.0f}));
  extended.run_steps_on_iterator(step, iterator, 0);
  BOOST_TEST(seen.size() == 3);
}

BOOST_AUTO_TEST_CASE(keep_the_outputs_of_the_last_step) {
  const auto steps = extended.run_steps_on_iterator(
      [&](multi_step_context& context, const per_replica<tensor>& inputs) {
        context.set_last_step_output("reduced", inputs, reduce_op::sum);
        context.set_last_step_output("each", inputs);
        context.set_last_step_output("number", only(inputs[1]));
      },
      iterator, 3);
  BOOST_TEST(only(steps.last_step_output<tensor>("reduced")) == 11.0f);
  BOOST_TEST(only(steps.last_step_output<per_replica<tensor>>("each")[0]) == 5.0f);
  BOOST_TEST(steps.last_step_output<float>("number") == 6.0f);
  BOOST_TEST(steps.last_step_outputs().size() == 3);
}

BOOST_AUTO_TEST_CASE(reduce_outputs_that_replicas_set_once_for_all) {
  const auto steps = extended.run_steps_on_iterator(
      [&](multi_step_context& context, const per_replica<tensor>& inputs) {
        strategy.run(
            [context](const tensor& mine) mutable {
              context.set_last_step_output("sum", mine, reduce_op::sum);
              context.set_last_step_output("mean", only(mine), reduce_op::mean);
              context.set_last_step_output("metrics", std::map<std::string, float>{{"loss", only(mine)}},
                                           reduce_op::sum);
            },
            inputs);
      },
      iterator, 2);
  BOOST_TEST(only(steps.last_step_output<tensor>("sum")) == 7.0f);
  BOOST_TEST(steps.last_step_output<float>("mean") == 3.5f);
  const auto& metrics = steps.last_step_output<std::map<std::string, float>>("metrics");
  BOOST_TEST(metrics.at("loss") == 7.0f);
}

BOOST_AUTO_TEST_CASE(refuse_outputs_of_replicas_without_a_reduction) {
  require_error<invalid_argument_error>("the output \"loss\" was set in replica context without a reduction", [&] {
    extended.run_steps_on_iterator(
        [&](multi_step_context& context, const per_replica<tensor>& inputs) {
          strategy.run([context](const tensor& mine) mutable { context.set_last_step_output("loss", mine); }, inputs);
        },
        iterator);
  });
}

BOOST_AUTO_TEST_CASE(keep_what_is_no_tensor_from_any_context) {
  const auto steps = extended.run_steps_on_iterator(
      [&](multi_step_context& context, const per_replica<tensor>& inputs) {
        context.set_non_tensor_output("name", std::string{"step"});
        strategy.run(
            [context](const tensor&) mutable {
              const auto id = replica_context::current().replica_id_in_sync_group();
              context.set_non_tensor_output(fmt::format("replica {}", id), id);
            },
            inputs);
      },
      iterator);
  BOOST_TEST(steps.non_tensor_output<std::string>("name") == "step");
  BOOST_TEST(steps.non_tensor_output<int>("replica 1") == 1);
  BOOST_TEST(steps.non_tensor_outputs().size() == 3);
  BOOST_TEST(steps.last_step_outputs().empty());
}

BOOST_AUTO_TEST_CASE(begin_with_the_initial_values) {
  const auto step = [](multi_step_context& context, const per_replica<tensor>&) {
    const auto before = context.last_step_output<int>("steps");
    context.set_last_step_output("steps", before + 1);
  };
  const auto steps = extended.run_steps_on_iterator(step, iterator, 2, {{"steps", 10}, {"untouched", 0.5}});
  BOOST_TEST(steps.last_step_output<int>("steps") == 12);
  BOOST_TEST(steps.last_step_output<double>("untouched") == 0.5);
}

BOOST_AUTO_TEST_CASE(name_outputs_that_are_not_there_or_of_another_type) {
  const auto steps = extended.run_steps_on_iterator(
      [](multi_step_context& context, const per_replica<tensor>&) { context.set_last_step_output("loss", 1.0f); },
      iterator);
  require_error<not_found_error>("no step has set the output \"accuracy\"",
                                 [&] { steps.last_step_output<float>("accuracy"); });
  require_error<invalid_argument_error>("the output \"loss\" was set with another type",
                                        [&] { steps.last_step_output<int>("loss"); });
  require_error<not_found_error>("\"loss\"", [&] { steps.non_tensor_output<float>("loss"); });
}

BOOST_AUTO_TEST_CASE(end_with_an_error_when_the_iterator_ends_before) {
  auto calls = 0;
  require_error<out_of_range_error>("no more elements", [&] {
    extended.run_steps_on_iterator([&](multi_step_context&, const per_replica<tensor>&) { ++calls; }, iterator, 4);
  });
  BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_CASE(are_refused_for_negative_iterations_and_in_replica_context) {
  const auto nothing = [](multi_step_context&, const per_replica<tensor>&) {};
  require_error<invalid_argument_error>("-1 iterations",
                                        [&] { extended.run_steps_on_iterator(nothing, iterator, -1); });
  require_error<failed_precondition_error>("run_steps_on_iterator needs cross-replica context", [&] {
    strategy.run([&] { extended.run_steps_on_iterator(nothing, iterator); });
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
