// How errors of closures are raised: late, the first one, after everything else has been cancelled
// (examples/reference/semantics.md 2.2).
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(errors_suite)

namespace {

remote_value<int> schedule_failure(simulation& cluster, std::string why, duration after) {
  return cluster.schedule(
      [](std::string text, std::int64_t nanoseconds) -> int {
        sleep_for(duration{nanoseconds});
        throw out_of_range_error{text};
      },
      std::move(why), after.count());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(errors, observed)

BOOST_AUTO_TEST_CASE(join_answers_at_once_when_nothing_was_scheduled_and_as_often_as_it_is_asked) {
  ready_cluster cluster{{.seed = 1}};
  for (int i = 0; i < 3; ++i) {
    const auto join = cluster.join();
    cluster.run();
    BOOST_TEST(join.ended());
    BOOST_TEST(join.problem().ok());
  }
}

BOOST_AUTO_TEST_CASE(join_and_done_answer_when_the_last_closure_has_ended) {  // C-2
  ready_cluster cluster{{.seed = 2}};
  for (int i = 0; i < 50; ++i) schedule_work(cluster, i, i * 10ms);
  const auto join = cluster.join();
  auto done = cluster.done();
  cluster.run();
  BOOST_TEST_REQUIRE(done.ended());
  BOOST_TEST(!*done);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return join.ended(); }, 10s));
  BOOST_TEST(seen.executing() == 0u);
  BOOST_TEST(seen.finished.size() == 50u);
  done = cluster.done();
  cluster.run();
  BOOST_TEST(*done);
}

BOOST_AUTO_TEST_CASE(the_first_error_is_raised_and_everything_else_is_cancelled) {  // C-1, C-2
  ready_cluster cluster{{.seed = 3, .size = {.workers = 2, .servers = 0}}};
  const auto running = schedule_work(cluster, 1, 1h);
  const auto first = schedule_failure(cluster, "the first", 100ms);
  const auto second = schedule_failure(cluster, "the second", 200ms);
  std::vector<remote_value<int>> queued;
  for (int i = 2; i < 40; ++i) queued.push_back(schedule_work(cluster, i, 1h));
  cluster.advance(1s);
  BOOST_TEST(cluster.error_pending());
  // Until somebody asks, the workers go on.
  BOOST_TEST(seen.executing() != 0u);
  const auto join = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return join.ended(); }, 10ms));
  BOOST_TEST(seen.executing() == 0u);
  BOOST_TEST(to_string(join.problem().code()) == "out_of_range");
  BOOST_TEST(contains(join.problem().render(), "the first"), join.problem().render());
  BOOST_TEST((running.state() == remote_value_state::aborted));
  for (const auto& value : queued) BOOST_TEST((value.state() == remote_value_state::aborted));
  BOOST_TEST(contains(end_of(first).render(), "the first"));
  BOOST_TEST(contains(end_of(second).render(), "the second"));
  BOOST_TEST(!cluster.error_pending());
}

BOOST_AUTO_TEST_CASE(a_closure_that_is_scheduled_while_an_error_is_pending_never_runs) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ready_cluster cluster{{.seed = seed, .size = {.workers = 2, .servers = 0}}};
    schedule_failure(cluster, "the first", 1ms);
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return cluster.error_pending(); }, 1s));
    const auto refused = schedule_work(cluster, 1, 1ms);
    BOOST_TEST((refused.state() == remote_value_state::aborted));
    cluster.advance(1s);
    const auto join = cluster.join();
    cluster.advance(1s);
    BOOST_TEST(contains(join.problem().render(), "the first"), join.problem().render());
    BOOST_TEST(!seen.finished.contains(1), seed);
    BOOST_TEST(cluster.fetch(schedule_work(cluster, 2, 1ms)) == 2);
  }
}

BOOST_AUTO_TEST_CASE(after_an_error_the_coordinator_is_as_good_as_new) {
  ready_cluster cluster{{.seed = 4}};
  for (int round = 0; round < 5; ++round) {
    schedule_failure(cluster, "round " + std::to_string(round), 1ms);
    cluster.advance(10ms);
    const auto raised = cluster.join();
    cluster.advance(10ms);
    BOOST_TEST(contains(raised.problem().render(), "round " + std::to_string(round)), raised.problem().render());
    const auto fine = schedule_work(cluster, round, 1ms);
    const auto join = cluster.join();
    cluster.advance(10ms);
    BOOST_TEST(join.ended());
    BOOST_TEST(join.problem().ok());
    BOOST_TEST(cluster.fetch(fine) == round);
  }
}

BOOST_AUTO_TEST_CASE(a_join_that_waits_hears_of_an_error_as_soon_as_all_others_have_stopped) {  // C-2
  ready_cluster cluster{{.seed = 5}};
  for (int i = 0; i < 8; ++i) schedule_work(cluster, i, 1h);
  schedule_failure(cluster, "too soon", 500ms);
  const auto join = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return join.ended(); }, 510ms));
  BOOST_TEST(contains(join.problem().render(), "too soon"));
  BOOST_TEST(seen.executing() == 0u);
}

BOOST_AUTO_TEST_CASE(done_raises_a_pending_error_and_can_be_asked_again) {
  ready_cluster cluster{{.seed = 6}};
  schedule_failure(cluster, "nothing works", 1ms);
  schedule_work(cluster, 1, 1h);
  cluster.advance(10ms);
  const auto raised = cluster.done();
  cluster.advance(10ms);
  BOOST_TEST_REQUIRE(raised.ended());
  BOOST_TEST(contains(raised.problem().render(), "nothing works"));
  const auto done = cluster.done();
  cluster.run();
  BOOST_TEST(*done);
}

BOOST_AUTO_TEST_CASE(all_errors_of_a_generation_are_listed) {
  ready_cluster cluster{{.seed = 7}};
  for (int i = 0; i < 5; ++i) schedule_failure(cluster, "error " + std::to_string(i), i * 10ms);
  cluster.advance(1s);
  const auto join = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return join.ended(); }, 1s));
  auto listed = cluster.ask<wire<std::vector<status>>>(cluster.coordinator(), 1s, errors_atom_v);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return listed.ended(); }, 1s));
  BOOST_TEST(!join.problem().ok());
  BOOST_TEST((*listed)->size() == 5u);
  for (const auto& each : **listed) BOOST_TEST(contains(each.render(), "error "));
}

BOOST_AUTO_TEST_CASE(an_error_is_raised_although_a_worker_is_frozen) {  // C-2
  ready_cluster cluster{{.seed = 8, .size = {.workers = 2, .servers = 0}}};
  for (int i = 0; i < 15; ++i) schedule_work(cluster, i, 1h);
  const auto impatient = schedule_work(cluster, 15, 1h, {.limit = 100ms});
  cluster.advance(10ms);
  freeze_worker(cluster, 1);
  const auto join = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return join.ended(); }, 2500ms));
  BOOST_TEST(!join.problem().ok());
  BOOST_TEST(to_string(end_of(impatient).code()) == "deadline_exceeded");
  BOOST_TEST(seen.executing() == 0u);
  thaw_worker(cluster, 1);
  cluster.advance(1s);
  BOOST_TEST(seen.executing() == 0u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_lost_while_an_error_is_raised_holds_nothing_up) {  // C-1, C-2
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    ready_cluster cluster{{.seed = seed, .size = {.workers = 2, .servers = 0}}};
    std::vector<remote_value<int>> values;
    schedule_failure(cluster, "stop", 10ms);
    for (int i = 0; i < 30; ++i) values.push_back(schedule_work(cluster, i, 1h));
    const auto join = cluster.join();
    // Somewhere between the error and its raising.
    cluster.run_until([&] { return cluster.error_pending(); }, 20ms);
    for (std::uint64_t step = 100; step < seed; ++step) cluster.step();
    cluster.kill(worker_task(0));
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return join.ended(); }, 100ms), seed);
    BOOST_TEST(contains(join.problem().render(), "stop"));
    for (const auto& value : values) BOOST_TEST((value.state() == remote_value_state::aborted));
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
