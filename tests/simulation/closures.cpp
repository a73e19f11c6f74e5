// Deadlines, cancellation, priorities, affinity and dependencies of closures, in exact virtual time.
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(closures_suite)

namespace {

simulation_options one_slot(std::uint64_t seed) {
  simulation_options result{.seed = seed, .size = {.workers = 1, .servers = 0}};
  result.cluster.coordinator.windows = {.slots = 1, .window_max = 1};
  return result;
}

/// Adds one after a while.
remote_value<int> schedule_next(simulation& cluster, const remote_value<int>& before) {
  return cluster.schedule(
      [](int x) {
        sleep_for(10ms);
        return x + 1;
      },
      before);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(closures, observed)

BOOST_AUTO_TEST_CASE(a_running_closure_ends_exactly_at_its_limit) {
  ready_cluster cluster{{.seed = 1, .size = {.workers = 1, .servers = 0}}};
  const auto begin = cluster.now();
  const auto late = schedule_work(cluster, 1, 10s, {.limit = 1500ms});
  BOOST_TEST(!cluster.run_until([&] { return ended(late); }, 1500ms - 1ns));
  BOOST_TEST(cluster.run_until([&] { return ended(late); }, 1ns));
  BOOST_TEST((cluster.now() - begin == 1500ms));
  BOOST_TEST(to_string(end_of(late).code()) == "deadline_exceeded");
  BOOST_TEST(contains(end_of(late).message(), "1500 ms; it was on /job:worker/task:0"), end_of(late).render());
  // The worker is told to stop.
  cluster.advance(1ms);
  BOOST_TEST(seen.executing() == 0u);
  BOOST_TEST(seen.finished[1] == 0);
}

BOOST_AUTO_TEST_CASE(a_closure_that_no_worker_takes_ends_at_its_limit) {
  simulation cluster{{.seed = 2, .size = {.workers = 1, .servers = 0}}};
  cluster.kill(worker_task(0));
  const auto begin = cluster.now();
  const auto late = schedule_work(cluster, 1, 0s, {.limit = 5s});
  BOOST_TEST(cluster.run_until([&] { return ended(late); }, 1min));
  BOOST_TEST((cluster.now() - begin == 5s));
  BOOST_TEST(contains(end_of(late).message(), "it was in the queue"), end_of(late).render());
}

BOOST_AUTO_TEST_CASE(long_limits_are_kept_to_within_one_sweep) {
  ready_cluster cluster{{.seed = 3, .size = {.workers = 1, .servers = 0}}};
  const auto begin = cluster.now();
  const auto late = schedule_work(cluster, 1, 24h, {.limit = 10min});
  BOOST_TEST(cluster.run_until([&] { return ended(late); }, 1h));
  BOOST_TEST((cluster.now() - begin >= 10min));
  BOOST_TEST((cluster.now() - begin <= 10min + 5s));
}

BOOST_AUTO_TEST_CASE(a_closure_is_cancelled_while_it_waits_and_while_it_runs) {  // C-1
  ready_cluster cluster{one_slot(4)};
  const auto runs = schedule_work(cluster, 1, 10s);
  const auto waits = schedule_work(cluster, 2, 10s);
  cluster.advance(1s);
  waits.cancel();
  runs.cancel();
  cluster.run();
  BOOST_TEST((runs.state() == remote_value_state::aborted));
  BOOST_TEST((waits.state() == remote_value_state::aborted));
  BOOST_CHECK_THROW(runs.fetch(0s), cancelled_error);
  cluster.advance(1ms);
  BOOST_TEST(seen.executing() == 0u);
  BOOST_TEST(seen.started[2] == 0);
  // Cancelling is no error of the program.
  const auto join = cluster.join();
  cluster.advance(1ms);
  BOOST_TEST(join.ended());
  BOOST_TEST(join.problem().ok());
  runs.cancel();
  cluster.advance(1ms);
}

// What a worker took in advance, and cannot begin.
BOOST_AUTO_TEST_CASE(no_closure_waits_for_ten_milliseconds_while_a_worker_idles) {
  for (std::uint64_t seed = 50; seed < 70; ++seed) {
    simulation_options options{.seed = seed, .size = {.workers = 2, .servers = 0}};
    options.cluster.coordinator.windows = {.slots = 1, .fibers_max = 1, .window_max = 64};
    ready_cluster cluster{options};
    // So quick that each worker takes many at a time.
    for (int number = 0; number < 2000; ++number) schedule_work(cluster, 0, 0s);
    const auto warm = cluster.join();
    BOOST_REQUIRE(cluster.run_until([&] { return warm.ended(); }, 1min));
    std::vector<remote_value<int>> quick;
    const auto slow = schedule_work(cluster, 1, 10s);
    for (int number = 2; number < 60; ++number) quick.push_back(schedule_work(cluster, number, 0s));
    BOOST_TEST(cluster.run_until([&] { return std::all_of(quick.begin(), quick.end(), ended); }, 10ms));
    BOOST_TEST(!ended(slow));
    BOOST_TEST(cluster.fetch(slow) == 1);
    BOOST_TEST(seen.overlaps == 0);
    for (int number = 1; number < 60; ++number) BOOST_TEST(seen.started[number] == 1);
    seen = {};
  }
}

// Three for two workers: one of them holds only one, and so could do more.
BOOST_AUTO_TEST_CASE(what_is_large_is_moved_once_to_workers_that_idle) {
  ready_cluster cluster{
      {.seed = 70, .size = {.workers = 2, .servers = 0}, .bulk_bytes_per_second = std::uint64_t{1} << 20}};
  const auto content = tensor::of(std::vector<float>(std::size_t{1} << 18, 1.0f));
  std::vector<remote_value<int>> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back(cluster.schedule([](const tensor& x) { return static_cast<int>(x.size_bytes() >> 20); }, content));
  BOOST_TEST(!cluster.run_until([&] { return ended(sizes[0]); }, 900ms));
  BOOST_TEST(cluster.run_until([&] { return std::all_of(sizes.begin(), sizes.end(), ended); }, 200ms));
  for (const auto& size : sizes) BOOST_TEST(cluster.fetch(size) == 1);
}

BOOST_AUTO_TEST_CASE(higher_priorities_go_first) {
  ready_cluster cluster{one_slot(5)};
  schedule_work(cluster, 0, 100ms);
  cluster.advance(1ms);
  for (int number = 1; number <= 6; ++number) schedule_work(cluster, number, 1ms, {.priority = (number - 1) % 3});
  cluster.advance(1s);
  BOOST_TEST(seen.order == (std::vector{0, 3, 6, 2, 5, 1, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_closure_runs_on_the_worker_it_asks_for) {
  ready_cluster cluster{{.seed = 6, .size = {.workers = 4, .servers = 0}}};
  std::vector<remote_value<int>> where;
  for (int i = 0; i < 40; ++i)
    where.push_back(cluster.schedule(schedule_options{.worker = i % 4}, [] { return current_worker_index(); }));
  for (int i = 0; i < 40; ++i) BOOST_TEST(cluster.fetch(where[static_cast<std::size_t>(i)]) == i % 4);
}

BOOST_AUTO_TEST_CASE(closures_are_spread_over_all_workers) {
  ready_cluster cluster{{.seed = 7, .size = {.workers = 4, .servers = 0}}};
  std::vector<remote_value<int>> where;
  for (int i = 0; i < 32; ++i)
    where.push_back(cluster.schedule([] {
      sleep_for(1s);
      return current_worker_index();
    }));
  const auto begin = cluster.now();
  std::map<int, int> count;
  for (const auto& one : where) ++count[cluster.fetch(one)];
  for (int i = 0; i < 4; ++i) BOOST_TEST(count[i] == 8);
  BOOST_TEST((cluster.now() - begin < 1100ms));
}

BOOST_AUTO_TEST_CASE(a_chain_of_closures_passes_values_on_although_workers_are_lost) {
  ready_cluster cluster{{.seed = 8, .size = {.workers = 3, .servers = 0}}};
  auto last = cluster.schedule([] { return 0; });
  for (int i = 0; i < 50; ++i) last = schedule_next(cluster, last);
  for (int i = 0; i < 4; ++i) {
    cluster.advance(70ms);
    cluster.kill(worker_task(i % 3));
    cluster.advance(1ms);
    cluster.restart(worker_task(i % 3));
  }
  BOOST_TEST(cluster.fetch(last) == 50);
}

BOOST_AUTO_TEST_CASE(a_closure_whose_input_fails_fails_with_the_reason_and_never_runs) {
  ready_cluster cluster{{.seed = 9, .size = {.workers = 2, .servers = 0}}};
  const auto broken = cluster.schedule([]() -> int {
    sleep_for(100ms);
    throw out_of_range_error{"row 7 of 5"};
  });
  const auto next = schedule_next(cluster, broken);
  const auto last = schedule_next(cluster, next);
  const auto innocent = schedule_work(cluster, 1, 1ms);
  cluster.advance(1s);
  for (const auto& value : {next, last}) {
    BOOST_TEST(to_string(end_of(value).code()) == "out_of_range");
    BOOST_TEST(contains(end_of(value).render(), "row 7 of 5"), end_of(value).render());
    BOOST_TEST(contains(end_of(value).render(), "input"), end_of(value).render());
  }
  BOOST_TEST(end_of(innocent).ok());
  // An input that has failed already; the error is raised first, since nothing is scheduled before that.
  const auto raised = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return raised.ended(); }, 1s));
  const auto after = schedule_next(cluster, broken);
  cluster.advance(1ms);
  BOOST_TEST(to_string(end_of(after).code()) == "out_of_range");
}

BOOST_AUTO_TEST_CASE(a_closure_whose_input_is_cancelled_is_cancelled) {
  ready_cluster cluster{{.seed = 10, .size = {.workers = 2, .servers = 0}}};
  const auto first = schedule_work(cluster, 1, 10s);
  const auto next = schedule_next(cluster, first);
  cluster.advance(1s);
  first.cancel();
  cluster.run();
  BOOST_TEST((next.state() == remote_value_state::aborted));
  BOOST_TEST(!cluster.error_pending());
}

BOOST_AUTO_TEST_CASE(a_full_queue_is_an_error_that_says_what_to_do) {
  auto options = one_slot(11);
  options.cluster.queue_capacity = 3;
  ready_cluster cluster{options};
  for (int i = 0; i < 3; ++i) schedule_work(cluster, i, 1s);
  BOOST_CHECK_EXCEPTION(schedule_work(cluster, 3, 1s), resource_exhausted_error,
                        [](const error& full) { return contains(full.message(), "raise queue_capacity"); });
  cluster.advance(1500ms);
  BOOST_CHECK_NO_THROW(schedule_work(cluster, 4, 1s));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
