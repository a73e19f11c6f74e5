// Parameter servers that die, freeze and come back, and links to them that break.
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(server_loss_suite)

namespace {

/// Adds one to a counter, many times, and says how often that was acknowledged.
remote_value<int> schedule_additions(simulation& cluster, const variable<std::int64_t>& counter, int times,
                                     schedule_options options = {}) {
  return cluster.schedule(
      options,
      [](variable<std::int64_t> shared, int count) {
        for (int i = 0; i < count; ++i) {
          shared.assign_add(1);
          sleep_for(1ms);
        }
        return count;
      },
      counter, times);
}

std::shared_ptr<operation_group> start_read(simulation& cluster, const variable<std::int64_t>& from,
                                            duration limit = 30s) {
  return cluster.start(from.as_tensor().plan_read(), limit);
}

/// Takes the error of a closure that failed on purpose.
void take_error(simulation& cluster) {
  const auto join = cluster.join();
  BOOST_TEST(cluster.run_until([&] { return join.ended(); }, 10s));
}

status outcome_of(const std::shared_ptr<operation_group>& group) {
  return group->missing == 0 ? group->outcomes.front().ended
                             : status{status_code::failed_precondition, "it has not ended"};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(servers)

BOOST_AUTO_TEST_CASE(when_a_server_is_killed_its_operations_fail_at_once_and_name_it) {
  ready_cluster cluster{{.seed = 1, .size = {.workers = 2, .servers = 2}}};
  const auto lost = cluster.make_variable<std::int64_t>("lost", 0, 1);
  const auto kept = cluster.make_variable<std::int64_t>("kept", 5, 0);
  const auto additions = schedule_additions(cluster, lost, 1000);
  cluster.advance(100ms);
  // One that is under way, one that comes after.
  const auto read = start_read(cluster, lost);
  cluster.kill(server_task(1));
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return read->missing == 0 && ended(additions); }, 5ms));
  const auto later = start_read(cluster, lost);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return later->missing == 0; }, 1ms));
  for (const auto& how : {outcome_of(read), end_of(additions), outcome_of(later)}) {
    BOOST_TEST(to_string(how.code()) == "unavailable");
    BOOST_TEST(contains(how.render(), "/job:ps/task:1"), how.render());
  }
  BOOST_TEST(cluster.read(kept) == 5);
}

BOOST_AUTO_TEST_CASE(when_a_server_is_frozen_its_operations_fail_within_the_limit) {
  ready_cluster cluster{{.seed = 2}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  const auto additions = schedule_additions(cluster, counter, 1000);
  cluster.advance(100ms);
  cluster.freeze(server_task(0));
  const auto read = start_read(cluster, counter);
  const auto since = cluster.now();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return read->missing == 0 && ended(additions); }, 1min));
  BOOST_TEST((cluster.now() - since <= 2250ms));
  BOOST_TEST(to_string(outcome_of(read).code()) == "unavailable");
  BOOST_TEST(contains(end_of(additions).render(), "/job:ps/task:0"), end_of(additions).render());
}

BOOST_AUTO_TEST_CASE(a_server_that_wakes_in_time_has_lost_nothing) {  // V-1
  ready_cluster cluster{{.seed = 3}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  const auto additions = schedule_additions(cluster, counter, 500);
  for (int i = 0; i < 3; ++i) {
    cluster.advance(50ms);
    cluster.freeze(server_task(0));
    cluster.advance(1400ms);
    cluster.thaw(server_task(0));
  }
  BOOST_TEST(cluster.fetch(additions) == 500);
  BOOST_TEST(cluster.read(counter) == 500);
}

BOOST_AUTO_TEST_CASE(a_server_that_was_cut_off_for_long_still_has_its_variables) {  // V-1
  ready_cluster cluster{{.seed = 4}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 7);
  cluster.cut(chief, server_task(0));
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return !cluster.present(server_task(0)); }, 3s));
  cluster.advance(1s);
  cluster.heal(chief, server_task(0));
  cluster.run_until_ready();
  BOOST_TEST(cluster.read(counter) == 7);
}

BOOST_AUTO_TEST_CASE(a_server_outlives_a_broken_link_to_the_chief) {  // V-1
  ready_cluster cluster{{.seed = 5}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  for (int i = 0; i < 5; ++i) {
    cluster.break_link(chief, server_task(0));
    cluster.advance(3s);
    BOOST_TEST(cluster.present(server_task(0)));
    BOOST_TEST(cluster.fetch(schedule_additions(cluster, counter, 10)) == 10);
  }
  BOOST_TEST(cluster.read(counter) == 50);
}

BOOST_AUTO_TEST_CASE(a_server_that_was_restarted_says_that_its_variables_are_gone) {  // M-2
  ready_cluster cluster{{.seed = 6}};
  const auto old = cluster.make_variable<std::int64_t>("old", 1);
  cluster.kill(server_task(0));
  cluster.restart(server_task(0));
  cluster.advance(1s);
  const auto read = start_read(cluster, old);
  const auto additions = schedule_additions(cluster, old, 1);
  cluster.advance(10ms);
  for (const auto& how : {outcome_of(read), end_of(additions)}) {
    BOOST_TEST(to_string(how.code()) == "unavailable");
    BOOST_TEST(contains(how.render(), "was restarted and lost the variables it held; restore a checkpoint"),
               how.render());
  }
  // The same shard number on the new server is another variable.
  const auto fresh = cluster.make_variable<std::int64_t>("fresh", 2);
  BOOST_TEST(cluster.read(fresh) == 2);
  BOOST_TEST(to_string(outcome_of(read).code()) == "unavailable");
}

BOOST_AUTO_TEST_CASE(operations_over_a_link_that_breaks_are_applied_exactly_once) {  // V-1
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ready_cluster cluster{{.seed = seed, .size = {.workers = 2, .servers = 1}}};
    const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
    std::vector<remote_value<int>> values;
    for (int i = 0; i < 8; ++i) values.push_back(schedule_additions(cluster, counter, 100));
    for (int i = 0; i < 30; ++i) {
      // Between any two messages.
      for (std::uint64_t step = 0; step < 40 + seed; ++step) cluster.step();
      cluster.break_link(server_task(0), worker_task(i % 2));
    }
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return ended(values.back()); }, 1min));
    for (const auto& value : values) BOOST_TEST(cluster.fetch(value) == 100);
    BOOST_TEST(cluster.read(counter) == 800, "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(operations_whose_link_carries_nothing_any_more_are_done_over_a_new_one) {  // V-1
  ready_cluster cluster{{.seed = 8, .size = {.workers = 2, .servers = 1}}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  for (const auto worker : {0, 1})
    BOOST_TEST(cluster.fetch(schedule_additions(cluster, counter, 1, {.worker = worker})) == 1);
  cluster.silence_link(server_task(0), worker_task(0));
  const auto over_the_silent_one = schedule_additions(cluster, counter, 10, {.worker = 0});
  const auto over_the_other = schedule_additions(cluster, counter, 10, {.worker = 1});
  BOOST_TEST(cluster.fetch(over_the_other, 1s) == 10);
  // After it was asked whether it is there.
  BOOST_TEST(cluster.fetch(over_the_silent_one, 8s) == 10);
  BOOST_TEST(cluster.read(counter) == 22);
  BOOST_TEST(cluster.present(worker_task(0)));
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_first_used_over_a_link_that_carries_nothing_any_more_is_found) {  // V-1
  ready_cluster cluster{{.seed = 9, .size = {.workers = 1, .servers = 1}}};
  const auto before = cluster.make_variable<std::int64_t>("before", 0);
  BOOST_TEST(cluster.fetch(schedule_additions(cluster, before, 1)) == 1);
  const auto fresh = cluster.make_variable<std::int64_t>("fresh", 0);
  cluster.silence_link(server_task(0), worker_task(0));
  BOOST_TEST(cluster.fetch(schedule_additions(cluster, fresh, 10), 8s) == 10);
  BOOST_TEST(cluster.read(fresh) == 10);
}

BOOST_AUTO_TEST_CASE(a_worker_reaches_a_server_whose_link_goes_silent_at_any_moment) {  // V-1
  for (std::uint64_t passed = 0; passed < 120; passed += 3) {
    ready_cluster cluster{{.seed = 9 + passed, .size = {.workers = 1, .servers = 1}}};
    const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
    const auto additions = schedule_additions(cluster, counter, 10);
    for (std::uint64_t i = 0; i < passed; ++i) cluster.step();
    cluster.silence_link(server_task(0), worker_task(0));
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return ended(additions); }, 15s), passed << " steps");
    BOOST_TEST(cluster.fetch(additions) == 10);
    BOOST_TEST(cluster.read(counter) == 10);
  }
}

BOOST_AUTO_TEST_CASE(operations_wait_for_a_link_that_is_cut_until_their_limit) {  // V-1
  ready_cluster cluster{{.seed = 7, .size = {.workers = 1, .servers = 1}}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  const auto first = schedule_additions(cluster, counter, 1);
  BOOST_TEST(cluster.fetch(first) == 1);
  cluster.cut(server_task(0), worker_task(0));
  const auto patient = schedule_additions(cluster, counter, 1);
  cluster.advance(20s);
  BOOST_TEST(!ended(patient));
  cluster.heal(server_task(0), worker_task(0));
  BOOST_TEST(cluster.fetch(patient) == 1);
  BOOST_TEST(cluster.read(counter) == 2);
  cluster.cut(server_task(0), worker_task(0));
  const auto late = schedule_additions(cluster, counter, 1);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return ended(late); }, 31s));
  BOOST_TEST(to_string(end_of(late).code()) == "deadline_exceeded");
  BOOST_TEST(contains(end_of(late).render(), "/job:ps/task:0"), end_of(late).render());
}

// M-2: the worker's view is old, and the address leads to another process, where the number is another variable's.
BOOST_AUTO_TEST_CASE(a_worker_that_has_not_heard_of_a_restart_changes_nothing_on_the_new_server) {
  ready_cluster cluster{{.seed = 10, .size = {.workers = 1, .servers = 1}}};
  const auto old = cluster.make_variable<std::int64_t>("old", 0);
  const auto additions = schedule_additions(cluster, old, 5000);
  cluster.advance(100ms);
  cluster.cut(chief, worker_task(0));
  cluster.kill(server_task(0));
  cluster.restart(server_task(0));
  cluster.advance(1s);
  BOOST_TEST_REQUIRE(cluster.present(server_task(0)));
  const auto fresh = cluster.make_variable<std::int64_t>("fresh", 0);
  BOOST_TEST(fresh.shared_record()->shards()->front().where.shard ==
             old.shared_record()->shards()->front().where.shard);
  cluster.advance(3s);
  BOOST_TEST(cluster.read(fresh) == 0);
}

BOOST_AUTO_TEST_CASE(a_silent_link_to_a_server_is_noticed_and_made_anew_when_it_speaks_again) {
  ready_cluster cluster{{.seed = 12, .size = {.workers = 1, .servers = 1}}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  BOOST_TEST(cluster.fetch(schedule_additions(cluster, counter, 1)) == 1);
  cluster.cut(server_task(0), worker_task(0));
  const auto late = schedule_additions(cluster, counter, 1);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return ended(late); }, 31s));
  // Its link is broken and dialled again; without a ping it would only know that nothing came.
  BOOST_TEST(contains(end_of(late).render(), "there is no link to /job:ps/task:0"), end_of(late).render());
  take_error(cluster);
  cluster.heal(server_task(0), worker_task(0));
  BOOST_TEST(cluster.fetch(schedule_additions(cluster, counter, 1)) == 1);
}

BOOST_AUTO_TEST_CASE(what_is_read_together_does_not_share_the_limit_of_one_value) {
  const auto before = value_bytes_max();
  ready_cluster cluster{{.seed = 13, .size = {.workers = 1, .servers = 1}}};
  const auto half = cluster.make_variable("half", tensor::full(shape{100'000}, 1.0f));
  const auto large = cluster.make_variable("large", tensor::full(shape{400'000}, 1.0f));
  set_value_bytes_max(std::size_t{1} << 20);
  const auto read = [](tensor_variable x) { return static_cast<int>(x.read().get_shape()[0]); };
  std::vector<remote_value<int>> values;
  for (int i = 0; i < 16; ++i) values.push_back(cluster.schedule(read, half));
  const auto too_large = cluster.schedule(read, large);
  for (int i = 0; i < 16; ++i) values.push_back(cluster.schedule(read, half));
  const auto all_ended = [&] {
    for (const auto& value : values)
      if (!ended(value)) return false;
    return ended(too_large);
  };
  BOOST_TEST(cluster.run_until(all_ended, 2s));
  set_value_bytes_max(before);
  take_error(cluster);
  BOOST_TEST(to_string(end_of(too_large).code()) == "resource_exhausted");
  BOOST_TEST(contains(end_of(too_large).render(), "set_value_bytes_max"), end_of(too_large).render());
  for (int i = 0; i < 16; ++i) BOOST_TEST(cluster.fetch(values[static_cast<std::size_t>(i)]) == 100'000);
}

BOOST_AUTO_TEST_CASE(an_operation_ends_exactly_at_its_limit) {
  ready_cluster cluster{{.seed = 8}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  cluster.freeze(server_task(0));
  const auto since = cluster.now();
  const auto read = start_read(cluster, counter, 300ms);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return read->missing == 0; }, 1s));
  BOOST_TEST((cluster.now() - since == 300ms));
  BOOST_TEST(to_string(outcome_of(read).code()) == "deadline_exceeded");
}

BOOST_AUTO_TEST_CASE(a_closure_that_waits_for_a_server_can_be_cancelled) {
  ready_cluster cluster{{.seed = 9}};
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  cluster.cut(server_task(0), worker_task(0));
  cluster.cut(server_task(0), worker_task(1));
  const auto waits = schedule_additions(cluster, counter, 1);
  cluster.advance(1s);
  waits.cancel();
  const auto join = cluster.join();
  BOOST_TEST(cluster.run_until([&] { return join.ended(); }, 5ms));
  BOOST_TEST((waits.state() == remote_value_state::aborted));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
