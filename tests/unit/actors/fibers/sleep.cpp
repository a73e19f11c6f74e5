// sleep_for: in a fiber it parks, in virtual time where time is virtual; elsewhere it blocks.
#include "fiber_actor.hpp"

#include <troupe/actors/fibers/sleep.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(sleep_suite)

BOOST_FIXTURE_TEST_CASE(fibers_that_sleep_wake_in_the_order_of_their_times_in_the_actors_time, virtual_system) {
  std::string order;
  fiber_actor actor{*this};
  const auto begin = now();
  actor.start(1, [&] {
    sleep_for(2h);
    order += "b";
    BOOST_TEST((now() - begin == 2h));
  });
  actor.start(2, [&] {
    sleep_for(1h);
    order += "a";
    BOOST_TEST((now() - begin == 1h));
  });
  advance(2h - 1ns);
  BOOST_TEST(order == "a");
  advance(1ns);
  BOOST_TEST(order == "ab");
}

BOOST_FIXTURE_TEST_CASE(no_time_at_all_lets_other_fibers_go_first, virtual_system) {
  std::string order;
  fiber_actor actor{*this};
  for (const auto time : {0ns, -5ns}) {
    order.clear();
    actor.act([&] {
      actor.fibers().run(1, [&] {
        sleep_for(time);
        order += "b";
      });
      actor.fibers().run(2, [&] { order += "a"; });
    });
    BOOST_TEST(order == "ab");
  }
}

BOOST_FIXTURE_TEST_CASE(a_cancellation_wakes_even_one_that_sleeps_for_ever, virtual_system) {
  std::string told;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    try {
      sleep_for(duration::max());
    } catch (const cancelled_error& thrown) {
      told = thrown.what();
    }
  });
  advance(24h);
  BOOST_TEST(told == "");
  actor.act([&] { actor.fibers().cancel(1, stop); });
  BOOST_TEST(told == "cancelled: stop");
}

BOOST_AUTO_TEST_CASE(a_thread_sleeps_as_long_as_it_says) {
  const auto begin = std::chrono::steady_clock::now();
  sleep_for(2ms);
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 2ms));
}

BOOST_AUTO_TEST_SUITE_END()
