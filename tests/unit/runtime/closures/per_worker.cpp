// Values, datasets and variables of which each worker has its own (examples/reference/semantics.md 1.1).
#include "support/local_world.hpp"

#include <set>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(per_worker_suite)

namespace {

/// Counts up from the worker's number in steps of the number of workers, three times.
dataset<int> count_from(input_context context, int scale) {
  return dataset<int>{[context, scale] {
    return dataset_iterator<int>{
        [next = context.input_pipeline_id, left = 3, context, scale]() mutable -> std::optional<int> {
          if (left-- == 0) return {};
          return scale * std::exchange(next, next + context.num_input_pipelines);
        }};
  }};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(each_worker_builds_its_own_value_and_closures_see_their_workers, local_world) {
  const auto numbers =
      coordinator.create_per_worker_values([](int offset) { return offset + current_worker_index(); }, 100);
  for (int worker = 0; worker < 2; ++worker)
    BOOST_TEST(coordinator
                   .schedule(
                       schedule_options{.worker = worker}, [](int x) { return x; }, numbers)
                   .fetch() == 100 + worker);
}

BOOST_FIXTURE_TEST_CASE(a_dataset_is_opened_on_each_worker_with_its_share, local_world) {
  const auto data = coordinator.create_per_worker_dataset(
      [](input_context context, int scale) { return count_from(context, scale); }, 10);
  const auto iterator = data.iterate();
  const auto next = [&](int worker) {
    return coordinator.schedule(
        schedule_options{.worker = worker}, [](const dataset_iterator<int>& it) { return it.next(); }, iterator);
  };
  BOOST_TEST(next(0).fetch() == 0);
  BOOST_TEST(next(1).fetch() == 10);
  BOOST_TEST(next(0).fetch() == 20);
  BOOST_TEST(next(0).fetch() == 40);
  BOOST_CHECK_THROW(next(0).fetch(), out_of_range_error);
  BOOST_CHECK_THROW(coordinator.join(), out_of_range_error);
  // Another set of iterators starts again.
  const auto again = data.iterate();
  BOOST_TEST(coordinator
                 .schedule(
                     schedule_options{.worker = 0}, [](const dataset_iterator<int>& it) { return it.next(); }, again)
                 .fetch() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_value_that_failed_to_build_fails_only_the_closures_that_use_it, local_world) {
  const auto bad = coordinator.create_per_worker_values([]() -> int { throw not_found_error{"no such file"}; });
  coordinator.join();
  BOOST_TEST(coordinator.schedule([] { return 1; }).fetch() == 1);
  BOOST_CHECK_EXCEPTION(coordinator.schedule([](int x) { return x; }, bad).fetch(), not_found_error,
                        [](const error& e) { return says(e, "no such file") && says(e, "per-worker"); });
  BOOST_CHECK_THROW(coordinator.join(), not_found_error);
}

BOOST_FIXTURE_TEST_CASE(a_per_worker_variable_is_not_synchronised, local_world) {
  auto counter = coordinator.create_per_worker_variable(5);
  coordinator.schedule(
      schedule_options{.worker = 1}, [](worker_cell<int> cell) { cell.assign_add(2); }, counter);
  coordinator.join();
  BOOST_TEST(counter.read_all() == (std::vector<int>{5, 7}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_value_lives_as_long_as_a_closure_that_needs_it, local_world) {
  auto result = [&] {
    const auto number = coordinator.create_per_worker_values([] { return 3; });
    return coordinator.schedule([](int x) { return x; }, number);
  }();
  BOOST_TEST(result.fetch() == 3);
}

BOOST_AUTO_TEST_CASE(the_workers_number_is_known_only_inside_closures) {
  BOOST_CHECK_THROW(current_worker_index(), failed_precondition_error);
}

BOOST_FIXTURE_TEST_CASE(a_dataset_is_made_again_on_each_worker_and_starts_at_its_beginning, local_world) {
  const auto data = coordinator.create_per_worker_dataset(
      range(1, 7).map([](std::int64_t x) { return static_cast<float>(x); }).batch(2));
  for (int round = 0; round < 2; ++round) {
    const auto iterator = data.iterate();
    for (int worker = 0; worker < 2; ++worker) {
      const auto sums = coordinator.schedule(
          {.worker = worker},
          [](const dataset_iterator<tensor>& rows) {
            std::vector<float> result;
            while (const auto batch = rows.next_or_end())
              result.push_back(batch->values<float>()[0] + batch->values<float>()[1]);
            return result;
          },
          iterator);
      BOOST_TEST(sums.fetch() == (std::vector{3.0F, 7.0F, 11.0F}), boost::test_tools::per_element());
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_shuffle_without_a_seed_has_another_order_on_each_worker_and_each_time, local_world) {
  const auto data = coordinator.create_per_worker_dataset(range(1000).shuffle(1000));
  std::set<std::vector<std::int64_t>> orders;
  for (int round = 0; round < 2; ++round) {
    const auto iterator = data.iterate();
    for (int worker = 0; worker < 2; ++worker)
      orders.insert(coordinator
                        .schedule(
                            {.worker = worker},
                            [](const dataset_iterator<std::int64_t>& numbers) {
                              std::vector<std::int64_t> all;
                              while (const auto x = numbers.next_or_end()) all.push_back(*x);
                              return all;
                            },
                            iterator)
                        .fetch());
  }
  BOOST_TEST(orders.size() == 4u);
}

BOOST_FIXTURE_TEST_CASE(a_dataset_that_cannot_be_made_elsewhere_is_refused_with_what_to_do, local_world) {
  std::int64_t offset = 5;
  const auto data = range(3).map([offset](std::int64_t x) { return x + offset; });
  BOOST_CHECK_EXCEPTION(coordinator.create_per_worker_dataset(data), invalid_argument_error, [](const error& e) {
    return says(e, "map() has a function with captures") && says(e, "give create_per_worker_dataset a function");
  });
  BOOST_CHECK_THROW(coordinator.create_per_worker_dataset(count_from({}, 1)), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()
