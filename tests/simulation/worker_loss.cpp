// Workers that die, freeze, and come back: closures are neither lost nor run twice at once.
#include "probe.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>

#include <algorithm>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(worker_loss_suite)

namespace {

/// The failure detector's default limit, and one interval for its next look.
constexpr duration notice_max = 2250ms;

std::vector<remote_value<int>> schedule_many(simulation& cluster, int count, duration takes) {
  std::vector<remote_value<int>> values;
  for (int i = 0; i < count; ++i) values.push_back(schedule_work(cluster, i, takes));
  return values;
}

bool all_ended(const std::vector<remote_value<int>>& values) {
  return std::all_of(values.begin(), values.end(), [](const auto& value) { return ended(value); });
}

duration time_of(const simulation& cluster, event_kind kind) {
  for (const auto& [at, what] : cluster.occurrences())
    if (what.kind == kind) return at;
  return duration::max();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(workers, observed)

BOOST_AUTO_TEST_CASE(closures_of_a_killed_worker_run_again_elsewhere_and_end_once) {  // C-1, C-3
  std::map<int, int> ends;
  ready_cluster cluster{{.seed = 1, .size = {.workers = 3, .servers = 0}}};
  const auto values = schedule_many(cluster, 24, 300ms);
  for (int i = 0; i < 24; ++i) values[static_cast<std::size_t>(i)].scheduled()->on_end([&ends, i] { ++ends[i]; });
  cluster.advance(100ms);
  cluster.kill(worker_task(0));
  const auto killed = cluster.now();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return all_ended(values); }, 5s));
  BOOST_TEST((time_of(cluster, event_kind::member_lost) - killed < 1ms));
  for (int i = 0; i < 24; ++i) {
    BOOST_TEST(cluster.fetch(values[static_cast<std::size_t>(i)]) == i);
    BOOST_TEST(ends[i] == 1);
    BOOST_TEST(seen.finished[i] == 1);
  }
  BOOST_TEST(seen.overlaps == 0);
  // The eight that it was running, and no others.
  BOOST_TEST(seen.order.size() == 24u + 8u);
}

BOOST_AUTO_TEST_CASE(a_frozen_worker_is_noticed_within_the_limit_and_taken_in_again_after_it_wakes) {  // C-3, M-2
  ready_cluster cluster{{.seed = 2, .size = {.workers = 2, .servers = 0}}};
  const auto values = schedule_many(cluster, 16, 10s);
  cluster.advance(100ms);
  freeze_worker(cluster, 0);
  const auto since = cluster.now();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return !cluster.present(worker_task(0)); }, 5s));
  BOOST_TEST((cluster.now() - since <= notice_max));
  cluster.advance(1s);
  thaw_worker(cluster, 0);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return cluster.present(worker_task(0)); }, 1s));
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return all_ended(values); }, 30s));
  BOOST_TEST(seen.executing() == 0u);
  BOOST_TEST(seen.overlaps == 0);
  for (int i = 0; i < 16; ++i) BOOST_TEST(seen.finished[i] == 1);
  BOOST_TEST(cluster.fetch(schedule_work(cluster, 99, 1ms, {.worker = 0})) == 99);
}

BOOST_AUTO_TEST_CASE(a_worker_that_slept_too_shortly_to_be_noticed_gives_its_closures_back) {  // C-1, C-3
  // Around own_pause_max and silence_max, where member and chief judge differently.
  for (auto sleep = 1000ms; sleep <= 3000ms; sleep += 50ms) {
    observations::here() = {};
    ready_cluster cluster{{.seed = 3, .size = {.workers = 2, .servers = 0}}};
    const auto values = schedule_many(cluster, 16, 300ms);
    cluster.advance(100ms);
    freeze_worker(cluster, 0);
    cluster.advance(sleep);
    thaw_worker(cluster, 0);
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return all_ended(values); }, 5s), sleep.count());
    BOOST_TEST(cluster.fetch(schedule_work(cluster, 99, 1ms, {.worker = 0}), 5s) == 99);
    BOOST_TEST(seen.overlaps == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_worker_that_slept_for_longer_than_it_bears_silence_hears_its_chief_first) {
  ready_cluster cluster{{.seed = 3, .size = {.workers = 2, .servers = 0}}};
  freeze_worker(cluster, 0);
  cluster.advance(1min);
  thaw_worker(cluster, 0);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return cluster.present(worker_task(0)); }, 2s));
  BOOST_TEST(cluster.fetch(schedule_work(cluster, 99, 1ms, {.worker = 0})) == 99);
}

BOOST_AUTO_TEST_CASE(a_worker_that_comes_back_builds_its_values_before_any_closure_uses_them) {  // C-4
  ready_cluster cluster{{.seed = 4, .size = {.workers = 2, .servers = 0}}};
  const auto slow_to_build = cluster.create_per_worker_values(
      [](int base) {
        sleep_for(700ms);
        return worker_cell<int>{base + current_worker_index()};
      },
      100);
  const auto use = [&] {
    return cluster.schedule(
        schedule_options{.worker = 1}, [](worker_cell<int> cell) { return cell.read(); }, slow_to_build);
  };
  BOOST_TEST(cluster.fetch(use()) == 101);
  cluster.kill(worker_task(1));
  const auto waiting = use();
  cluster.advance(1s);
  cluster.restart(worker_task(1));
  BOOST_TEST(cluster.fetch(waiting) == 101);
  BOOST_TEST((time_of(cluster, event_kind::resources_rebuilt) != duration::max()));
  // Once more, with the worker lost while it builds.
  cluster.kill(worker_task(1));
  cluster.restart(worker_task(1));
  const auto again = use();
  cluster.advance(400ms);
  cluster.kill(worker_task(1));
  cluster.restart(worker_task(1));
  BOOST_TEST(cluster.fetch(again) == 101);
}

BOOST_AUTO_TEST_CASE(a_closure_that_is_lost_with_too_many_workers_fails) {
  simulation_options options{.seed = 5, .size = {.workers = 1, .servers = 0}};
  options.cluster.coordinator.lost_workers_max = 3;
  ready_cluster cluster{options};
  const auto poison = schedule_work(cluster, 1, 10s);
  for (int i = 1; i <= 3; ++i) {
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return seen.started[1] == i; }, 5s));
    cluster.kill(worker_task(0));
    cluster.advance(10ms);
    cluster.restart(worker_task(0));
  }
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return ended(poison); }, 1s));
  const auto how = end_of(poison);
  BOOST_TEST(to_string(how.code()) == "aborted");
  BOOST_TEST(contains(how.message(), "was lost with its worker 3 times"), how.render());
  BOOST_TEST(contains(how.render(), "/job:worker/task:0"), how.render());
}

BOOST_AUTO_TEST_CASE(closures_wait_when_all_workers_are_lost_and_run_when_one_comes_back) {
  ready_cluster cluster{{.seed = 6, .size = {.workers = 2, .servers = 0}}};
  const auto values = schedule_many(cluster, 20, 50ms);
  cluster.advance(10ms);
  cluster.kill(worker_task(0));
  cluster.kill(worker_task(1));
  cluster.advance(1min);
  BOOST_TEST(!all_ended(values));
  cluster.restart(worker_task(1));
  BOOST_TEST(cluster.run_until([&] { return all_ended(values); }, 5s));
  BOOST_TEST(seen.overlaps == 0);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_lost_for_good_does_not_hold_up_the_others) {
  ready_cluster cluster{{.seed = 7, .size = {.workers = 3, .servers = 0}}};
  cluster.kill(worker_task(0));
  cluster.kill(worker_task(1));
  cluster.advance(1s);
  cluster.restart(worker_task(1));
  BOOST_TEST(cluster.run_until([&] { return cluster.present(worker_task(1)); }, 1s));
  BOOST_TEST(cluster.fetch(schedule_work(cluster, 1, 1ms, {.worker = 1}), 1s) == 1);
  BOOST_TEST(!cluster.present(worker_task(0)));
}

BOOST_AUTO_TEST_CASE(a_worker_outlives_a_broken_link_to_the_chief) {  // C-3
  ready_cluster cluster{{.seed = 8, .size = {.workers = 2, .servers = 0}}};
  const auto values = schedule_many(cluster, 16, 300ms);
  cluster.advance(100ms);
  break_worker(cluster, 0);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return all_ended(values); }, 5s));
  cluster.advance(20s);
  BOOST_TEST(cluster.present(worker_task(0)));
  BOOST_TEST(!cluster.end_of(worker_task(0)));
  BOOST_TEST(seen.overlaps == 0);
}

BOOST_AUTO_TEST_CASE(a_worker_refuses_orders_of_another_session) {  // M-2
  ready_cluster cluster{{.seed = 10, .size = {.workers = 1, .servers = 0}}};
  const auto worker = cluster.ask<worker_actor>(cluster.reach(worker_task(0)), 1s, worker_atom_v);
  cluster.advance(1ms);
  const auto work = [](int number) { return execution{number}.finish(); };
  const auto order = detail::packing_for<std::decay_t<decltype(work)>, int>::pack(7);
  caf::anon_send(
      *worker, run_atom_v, session_id{1}, std::uint64_t{1}, std::uint64_t{1},
      wire<run_orders>{{.orders = {{.id = 1, .number = 1, .function = order.function, .arguments = order.arguments}}}});
  cluster.advance(1s);
  BOOST_TEST(seen.started.empty());
  BOOST_TEST(cluster.fetch(cluster.schedule(work, 8)) == 8);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_dismissed_ends_its_process_and_is_taken_in_when_it_was_started_anew) {  // C-3
  ready_cluster cluster{{.seed = 12, .size = {.workers = 2, .servers = 0}}};
  const auto work = schedule_work(cluster, 1, 10s, {.worker = 1});
  cluster.advance(1s);
  cluster.spawn(chief, [door = cluster.reach(worker_task(1))](caf::event_based_actor* self) {
    self->send(door, dismiss_atom_v, wire<status>{status{status_code::unavailable, "it does not answer"}});
  });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return !cluster.running(worker_task(1)); }, 100ms));
  const auto end = cluster.end_of(worker_task(1));
  BOOST_REQUIRE(end.has_value());
  BOOST_TEST(to_string(end->how) == "dismissed");
  BOOST_TEST(contains(end->why.render(), "it does not answer"));
  cluster.restart(worker_task(1));
  BOOST_TEST(cluster.fetch(work) == 1);
}

BOOST_AUTO_TEST_CASE(what_a_worker_writes_after_the_chief_has_given_it_up_does_not_count) {  // C-3
  ready_cluster cluster{{.seed = 13, .size = {.workers = 2, .servers = 1}}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  std::vector<remote_value<int>> values;
  for (int i = 0; i < 2; ++i)
    values.push_back(cluster.schedule(
        [](int number, variable<std::int64_t> x) {
          const execution here{number};
          sleep_for(4s);
          x.assign_add(1);
          return here.finish();
        },
        i, counter));
  cluster.advance(100ms);
  cut_worker(cluster, 0);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return all_ended(values); }, 10s));
  BOOST_TEST(cluster.running(worker_task(0)), "it was there when it wrote");
  BOOST_TEST(seen.order.size() == 3u);
  BOOST_TEST(cluster.read(counter) == 2);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_cut_off_from_the_chief_is_replaced_and_comes_back) {  // C-3, M-1
  ready_cluster cluster{{.seed = 9, .size = {.workers = 2, .servers = 0}}};
  const auto values = schedule_many(cluster, 16, 300ms);
  cluster.advance(100ms);
  cut_worker(cluster, 0);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return all_ended(values); }, 5s));
  heal_worker(cluster, 0);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return cluster.present(worker_task(0)); }, 1s));
  cluster.advance(5s);
  BOOST_TEST(seen.executing() == 0u);
  BOOST_TEST(epochs_never_decrease(cluster));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
