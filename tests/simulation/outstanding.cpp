// What a program hears when its limit for closures is over: which have not ended, where they are and for what they
// wait. And a mutex that closures hold over waits, in virtual time.
#include "probe.hpp"

#include <troupe/actors/fibers/mutex.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <boost/test/unit_test.hpp>

#include <mutex>
#include <optional>
#include <string>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(outstanding_suite)

namespace {

/// Of the closures of all workers, which share the process with the tests.
std::optional<troupe::mutex> shared_mutex;

struct with_mutex {
  with_mutex() { shared_mutex.emplace(); }
  ~with_mutex() { shared_mutex.reset(); }
};

int hold_mutex(int seconds) {
  const std::scoped_lock lock{*shared_mutex};
  sleep_for(seconds * 1s);
  return seconds;
}

std::int64_t add_under_mutex(variable<std::int64_t> sum) {
  const std::scoped_lock lock{*shared_mutex};
  const auto before = sum.read();
  sleep_for(1ms);
  sum.assign(before + 1);
  return before;
}

int sleep_long() {
  sleep_for(10min);
  return 1;
}

int next_of(int before) { return before + 1; }

simulation_options two_places(std::uint64_t seed) {
  simulation_options result{.seed = seed, .size = {.workers = 1, .servers = 1}, .shares_memory = true};
  result.cluster.coordinator.windows = {.slots = 2, .fibers_max = 2, .window_max = 2};
  return result;
}

/// What `work` throws when it runs as the chief's program, and when.
template <class Work>
std::string thrown_by(simulation& cluster, Work work) {
  std::string told = "nothing";
  const auto program = cluster.start_program([&] {
    try {
      work();
    } catch (const deadline_exceeded_error& late) {
      told = late.what();
    }
  });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return program.ended(); }, 1h));
  BOOST_TEST(program.problem().ok(), program.problem().render());
  return told;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(closures_of_two_workers_hold_a_mutex_over_operations_on_variables, with_mutex) {
  ready_cluster cluster{{.seed = 1, .size = {.workers = 2, .servers = 1}, .shares_memory = true}};
  const auto sum = cluster.make_variable<std::int64_t>("sum", 0);
  constexpr auto count = 40;
  std::vector<remote_value<std::int64_t>> added;
  for (auto i = 0; i < count; ++i) added.push_back(cluster.schedule<add_under_mutex>({.worker = i % 2}, sum));
  for (const auto& each : added) cluster.fetch(each);
  BOOST_TEST(cluster.read(sum) == count);
}

BOOST_FIXTURE_TEST_CASE(a_closure_that_is_cancelled_while_it_holds_the_mutex_lets_the_next_go_on, with_mutex) {
  ready_cluster cluster{{.seed = 2, .size = {.workers = 2, .servers = 0}, .shares_memory = true}};
  const auto holder = cluster.schedule<hold_mutex>({.worker = 0}, 50);
  cluster.advance(1s);
  const auto next = cluster.schedule<hold_mutex>({.worker = 1}, 1);
  cluster.advance(1s);
  BOOST_TEST((next.state() == remote_value_state::not_ready));
  holder.cancel();
  cluster.advance(1100ms);
  BOOST_TEST((next.state() == remote_value_state::ready));
}

BOOST_FIXTURE_TEST_CASE(those_that_wait_for_a_mutex_whose_holder_waits_for_their_place_give_up_at_its_limit,
                        with_mutex) {
  shared_mutex.emplace(10s);
  auto options = two_places(6);
  options.cluster.coordinator.windows = {.slots = 1, .fibers_max = 1, .window_max = 1};
  ready_cluster cluster{options};
  static remote_value<int> wanted;
  const auto holder = cluster.schedule([] {
    const std::scoped_lock lock{*shared_mutex};
    sleep_for(1s);
    return wanted.fetch();
  });
  const auto waiting = cluster.schedule<hold_mutex>(0);
  wanted = cluster.schedule([] { return 7; });
  cluster.advance(10s);
  BOOST_TEST((holder.state() == remote_value_state::not_ready));
  BOOST_TEST(cluster.fetch(holder) == 7);
  BOOST_CHECK_THROW(cluster.fetch(waiting), deadline_exceeded_error);
  wanted = {};
}

BOOST_FIXTURE_TEST_CASE(a_join_that_is_late_says_which_closures_wait_where_and_for_what, with_mutex) {
  ready_cluster cluster{two_places(3)};
  const auto told = thrown_by(cluster, [&] {
    parameter_server_strategy strategy{cluster.chief_cluster()};
    cluster_coordinator coordinator{strategy};
    coordinator.schedule<hold_mutex>(20);
    sleep_for(1s);
    coordinator.schedule<hold_mutex>(1);
    coordinator.schedule<next_of>(coordinator.schedule<sleep_long>());
    const auto begin = current_time();
    try {
      coordinator.join(5s);
    } catch (const deadline_exceeded_error&) {
      BOOST_TEST((current_time() - begin < 6s));
      throw;
    }
  });
  BOOST_TEST(
      contains(told, "waiting for all closures took longer than its limit of 5000 ms: 4 closures have not ended"),
      told);
  BOOST_TEST(contains(told, "on /job:worker/task:0 waits for the end of sleep_for ("), told);
  BOOST_TEST(contains(told, "on /job:worker/task:0 waits for a troupe::mutex, held by "), told);
  BOOST_TEST(contains(told, "hold_mutex"), told);
  BOOST_TEST(contains(told, "sleep_long"), told);
  BOOST_TEST(contains(told, "is in the queue ("), told);
  BOOST_TEST(contains(told, "; and 1 more"), told);
}

BOOST_FIXTURE_TEST_CASE(a_fetch_that_is_late_says_what_its_closure_waits_for, with_mutex) {
  ready_cluster cluster{two_places(4)};
  auto in_queue = thrown_by(cluster, [&] {
    parameter_server_strategy strategy{cluster.chief_cluster()};
    cluster_coordinator coordinator{strategy};
    const auto first = coordinator.schedule<sleep_long>();
    coordinator.schedule<sleep_long>();
    const auto third = coordinator.schedule<sleep_long>();
    const auto fourth = coordinator.schedule<next_of>(third);
    for (const auto& [which, expected] : {std::pair{first, "on /job:worker/task:0 waits for the end of sleep_for ("},
                                          std::pair{third, "is in the queue ("},
                                          std::pair{fourth, "waits for other closures, whose values it takes ("}}) {
      try {
        which.fetch(1s);
      } catch (const deadline_exceeded_error& late) {
        BOOST_TEST(contains(late.what(), "was not ready within 1000 ms: 1 closure has not ended: "), late.what());
        BOOST_TEST(contains(late.what(), expected), late.what());
      }
    }
    fourth.fetch(1s);
  });
  BOOST_TEST(contains(in_queue, "next_of"), in_queue);
}

BOOST_AUTO_TEST_CASE(a_worker_that_answers_nothing_is_said_to_compute_or_to_block) {
  ready_cluster cluster{{.seed = 5, .size = {.workers = 1, .servers = 0}, .shares_memory = true}};
  const auto told = thrown_by(cluster, [&] {
    parameter_server_strategy strategy{cluster.chief_cluster()};
    cluster_coordinator coordinator{strategy};
    const auto value = coordinator.schedule<sleep_long>();
    sleep_for(100ms);
    freeze_worker(cluster, 0);
    const auto begin = current_time();
    try {
      value.fetch(1s);
    } catch (const deadline_exceeded_error&) {
      BOOST_TEST((current_time() - begin <= 1500ms));
      cluster.thaw(worker_task(0));
      // It comes to itself.
      sleep_for(2ms);
      observations::here().away.clear();
      throw;
    }
  });
  BOOST_TEST(contains(told, "on /job:worker/task:0, which does not answer and has ended none for"), told);
  BOOST_TEST(contains(told, "use troupe::mutex"), told);
}

// Its timers are late, too; so how long the calls take together says nothing.
BOOST_AUTO_TEST_CASE(a_chief_that_is_slow_has_as_long_to_say_why_as_was_waited) {
  simulated_world world{{.seed = 7}};
  simulation cluster{world, {.workers = 1, .servers = 0}};
  cluster.run_until_ready();
  const auto thrown_after = [&](duration limit) {
    const auto told = thrown_by(cluster, [&] {
      parameter_server_strategy strategy{cluster.chief_cluster()};
      cluster_coordinator coordinator{strategy};
      const auto value = coordinator.schedule<sleep_long>();
      sleep_for(100ms);
      world.slow_host("chief-0", 250ms);
      value.fetch(limit);
    });
    world.slow_host("chief-0", 0ms);
    return told;
  };
  const auto after_long = thrown_after(5s);
  BOOST_TEST(contains(after_long, "on /job:worker/task:0 waits for the end of sleep_for ("), after_long);
  const auto after_short = thrown_after(10ms);
  BOOST_TEST(contains(after_short, "why is unknown: deadline_exceeded: asking why closures have not ended: "),
             after_short);
}

BOOST_AUTO_TEST_SUITE_END()
