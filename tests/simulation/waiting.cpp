// Waits in closures and in a program that runs in a fiber: in virtual time, heard by cancellations, and without taking
// the place of what they wait for.
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/completion.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/stateful_actor.hpp>

#include <functional>
#include <map>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(waiting_suite)

namespace {

/// What closures wait for; they share the memory of the tests.
std::map<int, remote_value<int>> wanted;

simulation_options one_place(std::uint64_t seed) {
  simulation_options result{.seed = seed, .size = {.workers = 1, .servers = 0}, .shares_memory = true};
  result.cluster.coordinator.windows = {.slots = 1, .fibers_max = 1, .window_max = 1};
  return result;
}

/// Waits for the value with the number, then adds one.
remote_value<int> schedule_next_of(simulation& cluster, int number, schedule_options options = {}) {
  return cluster.schedule(
      options, [](int which) { return wanted.at(which).fetch() + 1; }, number);
}

struct program_state {
  explicit program_state(caf::event_based_actor* self) : clock(self), fibers(clock, {}) {}
  timers clock;
  fiber_host fibers;
};

/// A program as a fiber.
caf::behavior program(caf::stateful_actor<program_state>* self, const std::function<void()>& body) {
  self->state.fibers.run(1, body);
  return {[](caf::unit_t) {}};
}

struct forgetting {
  ~forgetting() { wanted.clear(); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_closure_sleeps_in_virtual_time_while_others_run, observed) {
  ready_cluster cluster{{.seed = 1, .size = {.workers = 1, .servers = 0}}};
  const auto begin = cluster.now();
  const auto late = cluster.schedule([] {
    const auto before = current_time();
    sleep_for(90min);
    return (current_time() - before).count();
  });
  const auto soon = schedule_work(cluster, 1, 1s);
  BOOST_TEST(cluster.fetch(soon) == 1);
  BOOST_TEST((cluster.now() - begin < 1100ms));
  // Its limit is an hour.
  BOOST_CHECK_THROW(cluster.fetch(late, 24h), deadline_exceeded_error);
  const auto raised = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return raised.ended(); }, 1s));
  const auto exact = cluster.schedule(schedule_options{.limit = 24h}, [] {
    const auto before = current_time();
    sleep_for(90min);
    return (current_time() - before).count();
  });
  BOOST_TEST((duration{cluster.fetch(exact, 24h)} == 90min));
}

BOOST_FIXTURE_TEST_CASE(a_cancellation_wakes_a_closure_that_sleeps, observed) {
  ready_cluster cluster{{.seed = 2, .size = {.workers = 1, .servers = 0}}};
  const auto asleep = schedule_work(cluster, 1, 59min);
  cluster.advance(1s);
  BOOST_TEST(seen.executing() == 1u);
  asleep.cancel();
  cluster.advance(1ms);
  BOOST_TEST((asleep.state() == remote_value_state::aborted));
  BOOST_TEST(seen.executing() == 0u);
}

BOOST_AUTO_TEST_CASE(a_closure_may_wait_for_another_one_that_needs_its_place) {
  const forgetting last;
  ready_cluster cluster{one_place(3)};
  // Each waits for the next; only the last one needs nobody, and it is last in line.
  constexpr auto length = 20;
  std::vector<remote_value<int>> chain;
  for (auto i = 0; i < length; ++i) chain.push_back(schedule_next_of(cluster, i + 1));
  chain.push_back(cluster.schedule([] { return 100; }));
  for (auto i = 0; i <= length; ++i) wanted[i] = chain[static_cast<std::size_t>(i)];
  const auto begin = cluster.now();
  BOOST_TEST(cluster.fetch(chain.front()) == 100 + length);
  BOOST_TEST((cluster.now() - begin < 1s));
}

BOOST_FIXTURE_TEST_CASE(places_that_were_lent_are_given_back, observed) {
  const forgetting last;
  ready_cluster cluster{one_place(4)};
  const auto first = schedule_next_of(cluster, 1);
  const auto second = schedule_next_of(cluster, 1);
  wanted[1] = schedule_work(cluster, 1, 1s);
  cluster.advance(500ms);
  BOOST_TEST(seen.executing() == 1u);
  second.cancel();
  BOOST_TEST(cluster.fetch(first) == 2);
  for (auto number = 2; number < 6; ++number) schedule_work(cluster, number, 1s);
  for (auto i = 0; i < 45; ++i) {
    cluster.advance(100ms);
    BOOST_TEST(seen.executing() <= 1u);
  }
  for (auto number = 2; number < 6; ++number) BOOST_TEST(seen.finished[number] == 1);
}

BOOST_AUTO_TEST_CASE(so_many_closures_may_not_wait_for_others_that_a_worker_drowns) {
  const forgetting last;
  auto options = one_place(5);
  options.cluster.members.worker.waiting_max = 2;
  ready_cluster cluster{options};
  // They are in front of what they wait for.
  wanted[1] = cluster.schedule(schedule_options{.priority = 0}, [] {
    sleep_for(1min);
    return 1;
  });
  std::vector<remote_value<int>> waiting;
  for (auto i = 0; i < 3; ++i) waiting.push_back(schedule_next_of(cluster, 1, {.priority = 2}));
  cluster.advance(1s);
  BOOST_TEST(!ended(waiting[0]));
  BOOST_TEST(!ended(waiting[1]));
  BOOST_TEST(to_string(end_of(waiting[2]).code()) == "resource_exhausted");
  BOOST_TEST(contains(end_of(waiting[2]).render(), "as an argument"), end_of(waiting[2]).render());
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_remote_value_in_a_closure_ends_at_its_limit_in_virtual_time) {
  const forgetting last;
  ready_cluster cluster{{.seed = 6, .size = {.workers = 2, .servers = 0}, .shares_memory = true}};
  wanted[1] = cluster.schedule([] {
    sleep_for(10min);
    return 1;
  });
  const auto waited = cluster.schedule([] {
    const auto before = current_time();
    const auto in_time = wanted.at(1).wait_for(2s);
    return in_time ? -1 : (current_time() - before).count();
  });
  BOOST_TEST((duration{cluster.fetch(waited)} == 2s));
}

BOOST_AUTO_TEST_CASE(a_closure_that_waits_for_a_remote_value_hears_its_cancellation) {
  const forgetting last;
  static auto heard = false;
  heard = false;
  ready_cluster cluster{{.seed = 7, .size = {.workers = 1, .servers = 0}, .shares_memory = true}};
  wanted[1] = cluster.schedule([] {
    sleep_for(10min);
    return 1;
  });
  const auto waiting = cluster.schedule([] {
    try {
      wanted.at(1).fetch();
    } catch (const cancelled_error&) {
      heard = true;
      throw;
    }
  });
  cluster.advance(1s);
  waiting.cancel();
  cluster.advance(1ms);
  BOOST_TEST(heard);
}

BOOST_AUTO_TEST_CASE(a_program_in_a_fiber_waits_for_everything_in_virtual_time) {
  ready_cluster cluster{{.seed = 8, .size = {.workers = 2, .servers = 1}}};
  const auto counter = cluster.make_variable("counter", 0.0f);
  const auto work = cluster.schedule([] {
    sleep_for(30min);
    return 7;
  });
  const auto begin = cluster.now();
  std::map<std::string, duration> when;
  cluster.spawn({"chief", 0}, program, [&] {
    const auto note = [&](const std::string& what) { when[what] = cluster.now() - begin; };
    sleep_for(5min);
    note("slept");
    counter.assign_add(1.0f);
    BOOST_TEST(counter.read() == 1.0f);
    note("counted");
    BOOST_TEST(work.fetch() == 7);
    note("fetched");
    cluster.schedule([] { sleep_for(10min); });
    ask(
        cluster.system({"chief", 0}), cluster.coordinator(), 1h, "joining", [](bool) {}, drained_atom_v,
        std::int64_t{duration{1h}.count()});
    note("joined");
  });
  cluster.advance(2h);
  BOOST_TEST((when["slept"] == 5min));
  BOOST_TEST((when["counted"] > 5min && when["counted"] < 5min + 1s));
  BOOST_TEST((when["fetched"] >= 30min && when["fetched"] < 30min + 1s));
  BOOST_TEST((when["joined"] >= 40min && when["joined"] < 40min + 2s));
}

BOOST_AUTO_TEST_SUITE_END()
