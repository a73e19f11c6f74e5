// How batches come to replicas (examples/reference/semantics.md 1.3: distribute_dataset,
// distribute_datasets_from_function, InputContext, InputOptions).
#include "support/dataset_support.hpp"

#include <troupe/runtime/distributed_dataset.hpp>
#include <troupe/runtime/unzip.hpp>

#include <memory>
#include <string>
#include <tuple>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(distributed_dataset_suite)

namespace {

/// The rows that each replica got, step by step.
using steps = std::vector<std::vector<std::vector<int>>>;

const std::vector<std::string> two{"CPU:0", "CPU:1"};

steps steps_of(const distributed_dataset<tensor>& source) {
  steps all;
  const auto iterator = source.iterate();
  while (const auto step = iterator.next_or_end()) {
    auto& parts = all.emplace_back();
    for (std::size_t replica = 0; replica < step->size(); ++replica) parts.push_back(values_of<int>((*step)[replica]));
  }
  return all;
}

std::vector<std::string> devices(int count) {
  std::vector<std::string> all;
  all.reserve(static_cast<std::size_t>(count));
  for (auto i = 0; i < count; ++i) all.push_back("CPU:" + std::to_string(i));
  return all;
}

steps distributed(int elements, int global_batch, int replicas) {
  return steps_of(distribute_dataset(numbers(elements).batch(global_batch), devices(replicas), {0, 1, replicas}));
}

}  // namespace

// --- distribute_dataset
// -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_global_batch_is_divided_among_the_replicas_as_in_the_seed) {
  const auto source = from_tensor_slices(tensor::of({5.0f, 6.0f, 7.0f, 8.0f})).batch(2);
  const auto iterator = distribute_dataset(source, two, {0, 1, 2}).iterate();
  auto values = iterator.next();
  BOOST_CHECK(values[0].bitwise_equal(tensor::of({5.0f})));
  BOOST_CHECK(values[1].bitwise_equal(tensor::of({6.0f})));
  values = iterator.next();
  BOOST_CHECK(values[0].bitwise_equal(tensor::of({7.0f})));
  BOOST_CHECK(values[1].bitwise_equal(tensor::of({8.0f})));
  BOOST_CHECK_THROW(iterator.next(), out_of_range_error);
  BOOST_CHECK(!iterator.next_or_end());
}

BOOST_AUTO_TEST_CASE(the_last_partial_batch_is_divided_as_evenly_as_possible) {
  BOOST_CHECK((distributed(10, 4, 2) == steps{{{0, 1}, {2, 3}}, {{4, 5}, {6, 7}}, {{8}, {9}}}));
  BOOST_CHECK((distributed(9, 4, 2) == steps{{{0, 1}, {2, 3}}, {{4, 5}, {6, 7}}, {{8}, {}}}));
  BOOST_CHECK((distributed(11, 8, 4) == steps{{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, {{8}, {9}, {10}, {}}}));
}

BOOST_AUTO_TEST_CASE(replicas_differ_by_at_most_one_row_where_the_division_leaves_a_remainder) {
  BOOST_CHECK((distributed(4, 4, 3) == steps{{{0, 1}, {2}, {3}}}));
  BOOST_CHECK((distributed(5, 5, 3) == steps{{{0, 1}, {2, 3}, {4}}}));
  BOOST_CHECK((distributed(2, 2, 4) == steps{{{0}, {1}, {}, {}}}));
}

BOOST_AUTO_TEST_CASE(a_part_without_rows_has_the_dtype_and_the_other_extents) {
  const auto source = from_tensor_slices(tensor::zeros(dtype::float64, {1, 2, 3})).batch(2);
  const auto step = distribute_dataset(source, two, {0, 1, 2}).iterate().next();
  BOOST_CHECK(step[1].get_shape() == (shape{0, 2, 3}));
  BOOST_CHECK(step[1].get_dtype() == dtype::float64);
}

BOOST_AUTO_TEST_CASE(several_processes_see_the_same_steps_and_together_each_row_once) {
  const auto source = numbers(11).shuffle(11, 5, false).batch(8);
  const auto alone = steps_of(distribute_dataset(source, devices(4), {0, 1, 4}));
  const auto first = steps_of(distribute_dataset(source, two, {0, 2, 4}));
  const auto second = steps_of(distribute_dataset(source, two, {1, 2, 4}));
  BOOST_REQUIRE(alone.size() == 2u);
  BOOST_REQUIRE(first.size() == 2u);
  BOOST_REQUIRE(second.size() == 2u);
  for (std::size_t step = 0; step < 2; ++step) {
    auto together = first[step];
    together.insert(together.end(), second[step].begin(), second[step].end());
    BOOST_CHECK(together == alone[step]);
  }
  BOOST_CHECK(second.back().back().empty());
}

BOOST_AUTO_TEST_CASE(each_iterator_of_a_distributed_dataset_starts_again) {
  const auto source = distribute_dataset(numbers(4).batch(2), two, {0, 1, 2});
  BOOST_TEST(source.get_cardinality().has_value() == false);
  const auto iterator = source.iterate();
  iterator.next();
  BOOST_TEST(source.iterate().next()[1].item<int>() == 1);
  BOOST_TEST(iterator.next()[1].item<int>() == 3);
}

BOOST_AUTO_TEST_CASE(structures_are_divided_leaf_by_leaf_and_can_be_unzipped) {
  const auto images = tensor::of<float>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto source = from_tensor_slices(std::tuple{images, tensor::of({1, 2, 3, 4})}).batch(4);
  const auto dealt = distribute_dataset(source, two, {0, 1, 2});
  BOOST_TEST(dealt.get_cardinality().value() == 1);
  const auto [image, label] = unzip(dealt.iterate().next());
  BOOST_CHECK(image[1].bitwise_equal(images.slice(2, 4)));
  BOOST_CHECK(label[0].bitwise_equal(tensor::of({1, 2})));
  BOOST_CHECK(label[1].bitwise_equal(tensor::of({3, 4})));
}

BOOST_AUTO_TEST_CASE(steps_are_prepared_ahead_without_a_difference_in_what_they_are) {
  const auto source = numbers(9).batch(4);
  for (const auto buffered : {0, 1, 5})
    BOOST_CHECK(steps_of(distribute_dataset(source, two, {0, 1, 2}, {.per_replica_buffer_size = buffered})) ==
                distributed(9, 4, 2));
}

BOOST_AUTO_TEST_CASE(parts_share_the_memory_of_the_batch_unless_a_device_needs_its_own) {
  const auto batch = tensor::of({1, 2, 3, 4});
  const auto source = from_generator(
      [batch] { return [left = 1, batch]() mutable { return left-- > 0 ? std::optional{batch} : std::nullopt; }; });
  const auto step = distribute_dataset(source, two, {0, 1, 2}).iterate().next();
  BOOST_TEST(step[1].data() == batch.data() + 2 * sizeof(int));
}

BOOST_AUTO_TEST_CASE(elements_that_are_no_batches_are_errors_of_the_step) {
  const auto source = distribute_dataset(from_tensor_slices(tensor::of({1, 2})), two, {0, 1, 2});
  BOOST_CHECK_EXCEPTION(source.iterate().next(), invalid_argument_error, says("batch the elements first"));
}

BOOST_AUTO_TEST_CASE(a_step_that_fails_arrives_as_its_error_and_the_next_one_follows) {
  const auto source = numbers(3).map([](int x) {
    if (x == 1) throw data_loss_error{"torn"};
    return tensor::of({x, x + 10});
  });
  const auto iterator = distribute_dataset(source, two, {0, 1, 2}).iterate();
  BOOST_TEST(iterator.next()[1].item<int>() == 10);
  BOOST_CHECK_EXCEPTION(iterator.next(), data_loss_error, says("element 1", "torn"));
  BOOST_TEST(iterator.next()[1].item<int>() == 12);
}

BOOST_AUTO_TEST_CASE(contradictions_between_replicas_pipelines_and_devices_are_refused) {
  const auto source = numbers(4).batch(2);
  BOOST_CHECK_EXCEPTION(distribute_dataset(source, {}), invalid_argument_error, says("at least one replica"));
  BOOST_CHECK_EXCEPTION(distribute_dataset(source, two), invalid_argument_error,
                        says("1 input pipelines with 2 replicas each", "num_replicas_in_sync is 1"));
  BOOST_CHECK_EXCEPTION(distribute_dataset(source, two, {2, 2, 4}), invalid_argument_error,
                        says("input_pipeline_id is 2"));
  BOOST_CHECK_EXCEPTION(distribute_dataset(source, {"CPU"}), invalid_argument_error, says("CPU"));
  BOOST_CHECK_EXCEPTION(distribute_dataset(source, {"/job:worker/task:0"}), invalid_argument_error,
                        says("names no device"));
  BOOST_CHECK_EXCEPTION(
      distribute_dataset(source, two, {0, 1, 2}, {.replication_mode = input_replication_mode::per_replica}),
      unimplemented_error, says("distribute_datasets_from_function"));
}

// --- distribute_datasets_from_function
// --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_step_takes_one_batch_per_replica_from_the_pipeline_of_the_function) {
  auto calls = 0;
  const auto source = distribute_datasets_from_function(
      [&](input_context context) {
        ++calls;
        BOOST_TEST(context.input_pipeline_id == 1);
        BOOST_TEST(context.num_input_pipelines == 3);
        BOOST_TEST(context.num_replicas_in_sync == 6);
        return numbers(24)
            .shard(context.num_input_pipelines, context.input_pipeline_id)
            .batch(context.get_per_replica_batch_size(12));
      },
      two, {1, 3, 6});
  BOOST_CHECK((steps_of(source) == steps{{{1, 4}, {7, 10}}, {{13, 16}, {19, 22}}}));
  BOOST_CHECK(steps_of(source).size() == 2u);
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(a_pipeline_that_ends_within_a_step_leaves_the_other_replicas_without_rows) {
  const auto source =
      distribute_datasets_from_function([](input_context) { return numbers(5).batch(1); }, devices(3), {0, 1, 3});
  BOOST_CHECK((steps_of(source) == steps{{{0}, {1}, {2}}, {{3}, {4}, {}}}));
}

BOOST_AUTO_TEST_CASE(with_a_pipeline_per_replica_each_has_its_own_number_and_ends_by_itself) {
  const auto make = [](input_context context) {
    BOOST_TEST(context.num_input_pipelines == 4);
    BOOST_TEST(context.num_replicas_in_sync == 4);
    const auto id = context.input_pipeline_id;
    return numbers(id).map([id](int x) { return 10 * id + x; }).batch(1);
  };
  const auto options = input_options{.replication_mode = input_replication_mode::per_replica};
  const auto source = distribute_datasets_from_function(make, two, {1, 2, 4}, options);
  BOOST_CHECK((steps_of(source) == steps{{{20}, {30}}, {{21}, {31}}, {{}, {32}}}));
}

BOOST_AUTO_TEST_CASE(pipelines_that_are_placed_on_the_device_give_the_same_steps) {
  const auto options = input_options{.fetch_to_device = false,
                                     .replication_mode = input_replication_mode::per_replica,
                                     .place_dataset_on_device = true};
  const auto source =
      distribute_datasets_from_function([](input_context) { return numbers(2).batch(1); }, two, {0, 1, 2}, options);
  BOOST_CHECK((steps_of(source) == steps{{{0}, {0}}, {{1}, {1}}}));
}

BOOST_AUTO_TEST_CASE(an_error_of_the_function_arrives_where_the_dataset_is_distributed) {
  const auto make = [](input_context) -> dataset<tensor> { throw not_found_error{"no such file"}; };
  BOOST_CHECK_THROW(distribute_datasets_from_function(make, two, {0, 1, 2}), not_found_error);
}

// --- context and options
// ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_batch_size_per_replica_is_the_global_one_divided_without_remainder) {
  BOOST_TEST((input_context{0, 1, 4}.get_per_replica_batch_size(64)) == 16);
  BOOST_TEST(input_context{}.get_per_replica_batch_size(3) == 3);
  BOOST_CHECK_EXCEPTION((input_context{0, 1, 4}.get_per_replica_batch_size(6)), invalid_argument_error,
                        says("global batch of 6", "4 replicas"));
  BOOST_CHECK_EXCEPTION(input_context{}.get_per_replica_batch_size(0), invalid_argument_error,
                        says("global batch of 0", "positive"));
}

BOOST_AUTO_TEST_CASE(contexts_that_cannot_be_are_refused) {
  BOOST_CHECK_EXCEPTION((input_context{0, 0, 1}.check()), invalid_argument_error, says("num_input_pipelines is 0"));
  BOOST_CHECK_EXCEPTION((input_context{-1, 1, 1}.check()), invalid_argument_error, says("input_pipeline_id is -1"));
  BOOST_CHECK_EXCEPTION((input_context{0, 1, 0}.check()), invalid_argument_error, says("num_replicas_in_sync is 0"));
}

BOOST_AUTO_TEST_CASE(options_that_exclude_each_other_are_refused) {
  BOOST_CHECK_NO_THROW(input_options{}.check());
  BOOST_CHECK_EXCEPTION(input_options{.per_replica_buffer_size = -1}.check(), invalid_argument_error,
                        says("per_replica_buffer_size is -1"));
  BOOST_CHECK_EXCEPTION((input_options{.fetch_to_device = false, .place_dataset_on_device = true}.check()),
                        invalid_argument_error, says("needs replication_mode per_replica"));
  const auto both =
      input_options{.replication_mode = input_replication_mode::per_replica, .place_dataset_on_device = true};
  BOOST_CHECK_EXCEPTION(both.check(), invalid_argument_error, says("fetch_to_device", "exclude each other"));
}

BOOST_AUTO_TEST_SUITE_END()
