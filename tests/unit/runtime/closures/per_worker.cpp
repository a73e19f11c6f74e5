// Values, datasets and variables of which each worker has its own (semantics.md 1.1).
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

BOOST_AUTO_TEST_SUITE_END()
