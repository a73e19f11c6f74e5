#include <troupe/actors/closures/internal/worker_roster.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(worker_roster_suite)

namespace {

constexpr window_options options{.slots = 4, .window_max = 100, .prefetch_horizon = 2ms};

/// A roster, a clock, and workers 0 to N-1 admitted.
struct company {
  explicit company(int workers) : roster(workers, options) {
    for (auto i = 0; i < workers; ++i) roster.admit(roster.at(i), now);
  }

  /// Gives closures to whoever is next, as the coordinator does; returns how many found a worker.
  std::size_t dispatch(std::size_t queued) {
    const auto before = queued;
    std::uint32_t share = 0;
    while (queued > 0) {
      auto* const worker = roster.next(queued, share);
      if (worker == nullptr) break;
      BOOST_REQUIRE(share >= 1u);
      BOOST_REQUIRE(share <= queued);
      BOOST_REQUIRE(share <= roster.credit(*worker));
      for (auto i = 0u; i < share; ++i) roster.sent(*worker, now);
      queued -= share;
      roster.offer(*worker);
    }
    return before - queued;
  }

  /// So many closures of the worker end, after each has run for `each`.
  void end(int worker, std::uint32_t count, duration each) {
    now += each * count;
    roster.ended(roster.at(worker), count, now);
  }

  std::uint32_t in_flight(int worker) { return roster.at(worker).in_flight; }
  std::uint32_t window(int worker) { return roster.at(worker).window; }

  worker_roster roster;
  time_point now{1h};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_roster_of_workers)

BOOST_AUTO_TEST_CASE(has_nobody_for_a_closure_until_a_worker_is_admitted) {
  company workers{0};
  workers.roster = worker_roster{3, options};
  std::uint32_t share = 0;
  BOOST_TEST(workers.roster.all().size() == 3u);
  BOOST_TEST(workers.roster.admitted() == 0u);
  BOOST_TEST(workers.roster.next(1, share) == nullptr);
  workers.roster.admit(workers.roster.at(1), workers.now);
  BOOST_TEST(workers.roster.admitted() == 1u);
  BOOST_REQUIRE(workers.roster.next(1, share) != nullptr);
}

BOOST_AUTO_TEST_CASE(gives_the_places_of_closures_that_wait_for_others_to_others) {
  company workers{1};
  auto& worker = workers.roster.at(0);
  BOOST_TEST(workers.dispatch(10) == 4u);
  workers.roster.waits(worker, 3);
  BOOST_TEST(workers.dispatch(10) == 3u);
  // They go on: nothing new until others have ended.
  workers.roster.waits(worker, 0);
  BOOST_TEST(workers.dispatch(10) == 0u);
  workers.end(0, 3, 1s);
  BOOST_TEST(workers.dispatch(10) == 0u);
  workers.end(0, 1, 1s);
  BOOST_TEST(workers.dispatch(10) == 1u);
  // A new session has none.
  workers.roster.waits(worker, 2);
  workers.roster.dismiss(worker);
  workers.roster.admit(worker, workers.now);
  BOOST_TEST(workers.dispatch(10) == 4u);
}

BOOST_AUTO_TEST_CASE(has_the_workers_of_the_specification_and_no_others) {
  worker_roster roster{1001, options};
  BOOST_TEST(roster.find(0) == &roster.at(0));
  BOOST_TEST(roster.find(1000)->index == 1000);
  for (const auto wrong : {-1, 1001, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()})
    BOOST_TEST(roster.find(wrong) == nullptr);
}

BOOST_AUTO_TEST_CASE(is_complete_while_all_workers_are_admitted) {
  company workers{2};
  BOOST_TEST(workers.roster.complete());
  workers.roster.dismiss(workers.roster.at(1));
  BOOST_TEST(!workers.roster.complete());
  workers.roster.admit(workers.roster.at(1), workers.now);
  BOOST_TEST(workers.roster.complete());
}

BOOST_AUTO_TEST_CASE(shares_a_few_closures_evenly) {
  company workers{4};
  BOOST_TEST(workers.dispatch(4) == 4u);
  for (auto i = 0; i < 4; ++i) BOOST_TEST(workers.in_flight(i) == 1u);
}

BOOST_AUTO_TEST_CASE(shares_many_closures_evenly_too) {
  company workers{3};
  BOOST_TEST(workers.dispatch(10) == 10u);
  std::multiset<std::uint32_t> shares;
  for (auto i = 0; i < 3; ++i) shares.insert(workers.in_flight(i));
  BOOST_TEST(shares == (std::multiset<std::uint32_t>{3, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shares_evenly_among_hundreds_of_workers) {
  company workers{500};
  BOOST_TEST(workers.dispatch(1250) == 1250u);
  for (auto i = 0; i < 500; ++i) BOOST_TEST((workers.in_flight(i) == 2 || workers.in_flight(i) == 3));
}

BOOST_AUTO_TEST_CASE(shares_evenly_what_is_only_taken_in_advance) {
  company workers{3};
  for (auto round = 0; round < 50; ++round) {
    workers.dispatch(1000);
    for (auto i = 0; i < 3; ++i) workers.end(i, workers.in_flight(i), 1us);
  }
  workers.dispatch(12);
  BOOST_TEST(workers.dispatch(30) == 30u);
  for (auto i = 0; i < 3; ++i) BOOST_TEST(workers.in_flight(i) == 14u);
}

BOOST_AUTO_TEST_CASE(gives_a_new_worker_no_more_than_it_can_run_at_once) {
  company workers{2};
  BOOST_TEST(workers.dispatch(1000) == 8u);
  std::uint32_t share = 0;
  BOOST_TEST(workers.roster.next(1, share) == nullptr);
}

BOOST_AUTO_TEST_CASE(begins_with_workers_that_have_nothing_to_do) {
  company workers{3};
  workers.dispatch(3);
  for (auto round = 0; round < 3; ++round)
    for (const auto idle : {1, 0, 2}) {
      workers.end(idle, 1, 1ms);
      workers.dispatch(1);
      for (auto i = 0; i < 3; ++i) BOOST_TEST(workers.in_flight(i) == 1u);
    }
  // But it gets no more than its share.
  workers.end(1, 1, 1ms);
  workers.dispatch(4);
  for (auto i = 0; i < 3; ++i) BOOST_TEST(workers.in_flight(i) <= 3u);
}

BOOST_AUTO_TEST_CASE(asks_idle_workers_before_it_lets_closures_wait_behind_busy_ones) {
  company workers{2};
  workers.dispatch(8);
  // Worker 0 has shown that it is fast enough to take closures in advance; worker 1 has just one free slot.
  workers.end(0, 1, 1us);
  workers.dispatch(1);
  workers.end(1, 1, 100ms);
  BOOST_TEST(workers.window(0) > options.slots);
  workers.dispatch(1);
  BOOST_TEST(workers.in_flight(1) == 4u);
  workers.dispatch(1);
  BOOST_TEST(workers.in_flight(0) == 5u);
}

BOOST_AUTO_TEST_CASE(deepens_the_window_of_a_worker_that_ends_closures_within_the_horizon) {
  company workers{1};
  for (auto round = 0; round < 50; ++round) {
    workers.dispatch(1000);
    workers.end(0, workers.in_flight(0), 100us);
  }
  // 2 ms of horizon hold 20 closures of 100 us.
  BOOST_TEST(workers.window(0) >= options.slots + 19);
  BOOST_TEST(workers.window(0) <= options.slots + 21);
}

BOOST_AUTO_TEST_CASE(never_deepens_a_window_over_its_maximum) {
  company workers{1};
  for (auto round = 0; round < 50; ++round) {
    workers.dispatch(1000);
    workers.end(0, workers.in_flight(0), 1ns);
    BOOST_TEST(workers.window(0) <= options.window_max);
  }
  BOOST_TEST(workers.window(0) == options.window_max);
  workers.dispatch(1000);
  // Closures that took no time at all: a simulation's clock stands still while they run.
  workers.end(0, workers.in_flight(0), 0ns);
  BOOST_TEST(workers.window(0) == options.window_max);
}

BOOST_AUTO_TEST_CASE(takes_the_window_back_from_a_worker_whose_closures_get_long) {
  company workers{1};
  for (auto round = 0; round < 50; ++round) {
    workers.dispatch(1000);
    workers.end(0, workers.in_flight(0), 1us);
  }
  BOOST_REQUIRE(workers.window(0) == options.window_max);
  auto rounds = 0;
  for (; workers.window(0) > options.slots && rounds < 100; ++rounds) {
    workers.dispatch(1000);
    workers.end(0, 1, 1s);
  }
  BOOST_TEST(workers.window(0) == options.slots);
  BOOST_TEST(rounds < 3, "one long closure is enough to see it");
}

BOOST_AUTO_TEST_CASE(gives_no_credit_while_more_is_in_flight_than_the_window_holds) {
  company workers{1};
  for (auto round = 0; round < 50; ++round) {
    workers.dispatch(1000);
    workers.end(0, workers.in_flight(0), 1us);
  }
  workers.dispatch(1000);
  BOOST_REQUIRE(workers.in_flight(0) == options.window_max);
  workers.end(0, 1, 10s);
  BOOST_REQUIRE(workers.window(0) < workers.in_flight(0));
  BOOST_TEST(workers.roster.credit(workers.roster.at(0)) == 0u);
  BOOST_TEST(workers.dispatch(10) == 0u);
}

BOOST_AUTO_TEST_CASE(skips_a_worker_that_was_dismissed_and_starts_anew_with_one_that_comes_back) {
  company workers{2};
  workers.dispatch(2);
  workers.roster.dismiss(workers.roster.at(0));
  BOOST_TEST(workers.roster.admitted() == 1u);
  workers.roster.dismiss(workers.roster.at(0));
  BOOST_TEST(workers.roster.admitted() == 1u);
  BOOST_TEST(workers.dispatch(100) == 3u);
  BOOST_TEST(workers.in_flight(0) == 0u);
  workers.roster.admit(workers.roster.at(0), workers.now);
  BOOST_TEST(workers.roster.admitted() == 2u);
  BOOST_TEST(workers.dispatch(100) == 4u);
  BOOST_TEST(workers.in_flight(0) == 4u);
}

BOOST_AUTO_TEST_CASE(ignores_more_ends_than_it_has_in_flight) {
  company workers{1};
  workers.dispatch(2);
  workers.end(0, 5, 1ms);
  BOOST_TEST(workers.in_flight(0) == 0u);
}

BOOST_AUTO_TEST_CASE(shares_evenly_whatever_happened_before) {
  company workers{5};
  std::mt19937_64 random{3};
  for (auto step = 0; step < 5000; ++step) {
    auto& worker = workers.roster.at(static_cast<int>(random() % 5));
    switch (random() % 4) {
      case 0:
        workers.dispatch(random() % 20);
        break;
      case 1:  // a closure that only this worker may run
        if (workers.roster.credit(worker) > 0) workers.roster.sent(worker, workers.now);
        break;
      case 2:
        if (worker.in_flight > 0) workers.end(worker.index, 1 + random() % worker.in_flight, random() % 1000 * 1us);
        break;
      case 3:
        if (random() % 10 != 0) break;
        workers.roster.dismiss(worker);
        workers.roster.admit(worker, workers.now);
        break;
    }
  }
  for (auto i = 0; i < 5; ++i) workers.end(i, workers.in_flight(i), 1ms);
  BOOST_TEST(workers.dispatch(15) == 15u);
  for (auto i = 0; i < 5; ++i) BOOST_TEST(workers.in_flight(i) == 3u);
}

// C-5: a worker stands in a queue at most once, however often it was offered, so that skipping those without credit
// costs at most one step for each offer.
BOOST_AUTO_TEST_CASE(names_each_worker_once_in_each_queue_however_often_it_was_offered) {
  company workers{100};
  for (auto round = 0; round < 50; ++round)
    for (auto i = 0; i < 100; ++i) workers.roster.offer(workers.roster.at(i));
  std::map<int, int> named;
  std::uint32_t share = 0;
  while (auto* const worker = workers.roster.next(1, share)) ++named[worker->index];
  BOOST_TEST(named.size() == 100u);
  // As one that idles, and as one that has a free slot.
  for (const auto& [_, times] : named) BOOST_TEST(times == 2);
}

// C-5
BOOST_AUTO_TEST_CASE(takes_turns_among_workers_with_room) {
  company workers{50};
  std::vector<int> order;
  for (auto i = 0; i < 150; ++i) {
    std::uint32_t share = 0;
    auto* const worker = workers.roster.next(1, share);
    BOOST_REQUIRE(worker != nullptr);
    order.push_back(worker->index);
    workers.roster.sent(*worker, workers.now);
    workers.roster.offer(*worker);
  }
  for (auto i = 0; i < 150; ++i) BOOST_TEST(order[static_cast<std::size_t>(i)] == i % 50);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
