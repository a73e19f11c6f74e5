// Replicas of one worker on variables of parameter servers; runtime/worker_strategy.hpp,
// examples/reference/semantics.md 1.2 and 1.6.
#include "support/local_world.hpp"

#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/worker_strategy.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(worker_strategy_suite)

namespace {

std::vector<std::string> two_devices() { return {test_devices()[0], test_devices()[1]}; }

/// The error's text, or "none".
template <class Call>
std::string error_of(Call call) {
  try {
    call();
    return "none";
  } catch (const error& thrown) {
    return thrown.what();
  }
}

BOOST_FIXTURE_TEST_CASE(replicas_of_a_worker_read_variables_and_write_them_together, local_world) {
  const auto v = strategy.variable("v", tensor::of({1.0f, 2.0f}));
  const auto seen = coordinator.schedule(
      [](tensor_variable weights) {
        const auto here = worker_strategy(two_devices());
        const aggregating_variable shared{weights, variable_aggregation::sum};
        const auto sums = here.run([&] {
          const auto id = replica_context::current().replica_id_in_sync_group();
          const auto before = shared.read().values<float>()[1];
          shared.assign_add(tensor::of({1.0f * static_cast<float>(id), 10.0f}));
          return before;
        });
        return here.reduce(reduce_op::sum, sums);
      },
      v);
  BOOST_TEST(seen.fetch() == 4.0f);
  const auto content = v.read();
  BOOST_TEST(content.values<float>()[0] == 2.0f);   // 1 + 0 + 1
  BOOST_TEST(content.values<float>()[1] == 22.0f);  // 2 + 10 + 10
}

BOOST_FIXTURE_TEST_CASE(mean_and_first_replica_are_aggregations_and_none_is_an_error, local_world) {
  const auto v = strategy.variable("v", tensor::of({0.0f}));
  const auto failed = coordinator.schedule(
      [](tensor_variable weights) {
        const auto here = worker_strategy(two_devices());
        const auto mine = [] {
          return tensor::of({static_cast<float>(1 + 2 * replica_context::current().replica_id_in_sync_group())});
        };
        here.run([&] { aggregating_variable{weights, variable_aggregation::mean}.assign(mine()); });
        here.run([&] { aggregating_variable{weights, variable_aggregation::only_first_replica}.assign_sub(mine()); });
        return error_of([&] {
          here.run([&] { aggregating_variable{weights, variable_aggregation::none}.assign(mine()); });
        });
      },
      v);
  BOOST_TEST(failed.fetch().find("has no aggregation") != std::string::npos, failed.fetch());
  BOOST_TEST(v.read().item<float>() == 1.0f);  // mean of 1 and 3, minus 1
}

BOOST_FIXTURE_TEST_CASE(the_replicas_are_the_same_for_all_closures_of_a_worker, local_world) {
  const auto threads = [] {
    const auto ids =
        worker_strategy(two_devices()).run([] { return std::hash<std::thread::id>{}(std::this_thread::get_id()); });
    return std::vector<std::uint64_t>{ids[0], ids[1]};
  };
  const auto first = coordinator.schedule(schedule_options{.worker = 0}, threads).fetch();
  const auto second = coordinator.schedule(schedule_options{.worker = 0}, threads).fetch();
  BOOST_TEST(first == second);
  BOOST_TEST(first[0] != first[1]);
}

BOOST_FIXTURE_TEST_CASE(an_error_of_a_replica_is_the_closures_error, local_world) {
  const auto fails = coordinator.schedule([] {
    worker_strategy(two_devices()).run([] {
      if (replica_context::current().replica_id_in_sync_group() == 1) throw out_of_range_error{"no row 9"};
    });
  });
  BOOST_CHECK_THROW(fails.fetch(), out_of_range_error);
}

BOOST_FIXTURE_TEST_CASE(closures_and_their_replicas_know_the_devices_that_they_may_compute_on, local_world) {
  const auto of_worker = coordinator.schedule([] { return current_devices(); }).fetch();
  const auto expected = tests_gpus() ? test_devices() : std::vector<std::string>{"CPU:0"};
  BOOST_TEST(of_worker == expected, boost::test_tools::per_element());
  const auto of_replicas = coordinator.schedule([] {
    const auto each = worker_strategy(two_devices()).run([] { return current_devices(); });
    return std::vector<std::string>{each[0][0], each[0][1]};
  });
  BOOST_TEST(of_replicas.fetch() == two_devices(), boost::test_tools::per_element());
  const auto computed = coordinator.schedule([] {
    const auto x = tensor::full({4}, 2.0f).copy_to(current_devices().front());
    const auto replicas =
        worker_strategy().run([&] { return reduce_sum(x.copy_to(current_devices()[0])).item<float>(); });
    return replicas[0];
  });
  BOOST_TEST(computed.fetch() == 8.0f);
}

BOOST_AUTO_TEST_CASE(outside_of_closures_there_are_no_replicas_of_a_worker) {
  BOOST_TEST(error_of([] { worker_strategy(two_devices()); }).find("outside of a closure") != std::string::npos);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
