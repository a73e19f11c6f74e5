#include "fiber_actor.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(fiber_suite)

BOOST_FIXTURE_TEST_SUITE(a_wait, virtual_system)

BOOST_AUTO_TEST_CASE(ends_by_completion_before_the_turn_of_the_actor_ends) {
  std::string order;
  point here;
  fiber_actor actor{*this};
  actor.act([&] {
    actor.fibers().run(1, [&] {
      order += "a";
      park(here);
      order += "d";
    });
    order += "b";
    const fiber_host::turn scope{actor.fibers()};
    here->complete();
    order += "c";
  });
  BOOST_TEST(order == "abcd");
  BOOST_TEST(actor.fibers().active() == 0u);
}

BOOST_AUTO_TEST_CASE(that_was_completed_before_does_not_park) {
  std::string order;
  fiber_actor actor{*this};
  actor.act([&] {
    actor.fibers().run(1, [&] {
      const auto here = wait_point::make();
      here->complete();
      here->wait_until(never, "nothing");
      order += "a";
    });
    order += "b";
  });
  BOOST_TEST(order == "ab");
}

// F-2
BOOST_AUTO_TEST_CASE(ends_at_its_deadline_with_an_error_that_names_what_it_waited_for) {
  const auto start = now();
  std::string outcome;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    try {
      park(here, now() + 5s);
    } catch (const deadline_exceeded_error& late) {
      outcome = late.what();
    }
  });
  advance(5s - 1ns);
  BOOST_TEST(outcome == "");
  advance(1ns);
  BOOST_TEST(outcome.find("waiting for a sign") != std::string::npos);
  BOOST_TEST((now() - start == 5s));
  actor.act([&] { here->complete(); });
  BOOST_TEST(actor.fibers().active() == 0u);
}

// F-5
BOOST_AUTO_TEST_CASE(that_has_a_deadline_ends_with_the_time_of_the_fibers_work) {
  std::vector<std::string> outcomes;
  point here;
  point other;
  fiber_actor actor{*this};
  const auto begin = now();
  actor.act([&] {
    actor.fibers().run(
        1,
        [&] {
          BOOST_TEST((fiber_host::current_deadline() == begin + 2s));
          outcomes.push_back(park_and_tell(here, begin + 1s));
          outcomes.push_back(park_and_tell(here, begin + 1h));
          outcomes.push_back(park_and_tell(here, begin + 2h));
          park(other);
          outcomes.push_back("completed");
        },
        begin + 2s);
  });
  BOOST_TEST((fiber_host::current_deadline() == never));
  advance(1s);
  BOOST_TEST(outcomes.size() == 1u);
  BOOST_TEST(outcomes.at(0) == "deadline_exceeded: the deadline passed while waiting for a sign");
  advance(1s - 1ns);
  BOOST_TEST(outcomes.size() == 1u);
  advance(1ns);
  // What waits again hears of it again, and its actor of other messages in between.
  BOOST_TEST_REQUIRE(outcomes.size() == 3u);
  for (const auto i : {1u, 2u}) {
    BOOST_TEST(outcomes.at(i).find("the time of fiber 1 of ") != std::string::npos, outcomes.at(i));
    BOOST_TEST(outcomes.at(i).find(" is over; it waited for a sign") != std::string::npos, outcomes.at(i));
  }
  // What has no deadline of its own.
  advance(1h);
  BOOST_TEST(outcomes.size() == 3u);
  actor.act([&] { other->complete(); });
  BOOST_TEST(outcomes.back() == "completed");
  // The next work of the same fiber.
  actor.start(2, [&] { BOOST_TEST((fiber_host::current_deadline() == never)); });
}

BOOST_AUTO_TEST_CASE(whose_deadline_has_passed_already_ends_at_once) {
  std::string outcome;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] { outcome = park_and_tell(here, now() - 1s); });
  BOOST_TEST(outcome.starts_with("deadline_exceeded"));
}

BOOST_AUTO_TEST_CASE(leaves_no_timer_behind) {
  std::string outcomes;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] { outcomes += park_and_tell(here, now() + 5s); });
  actor.act([&] { here->complete(); });
  actor.start(2, [&] { park_and_tell(here, now() + 5s); });
  actor.act([&] { actor.fibers().cancel(2, stop); });
  BOOST_TEST(outcomes == "completed");
  BOOST_TEST(actor->clock.size() == 0u);
}

BOOST_AUTO_TEST_CASE(may_be_completed_twice_and_after_its_fiber_has_ended) {
  point waited_for;
  point forgotten;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    forgotten = wait_point::make();
    park(waited_for);
  });
  actor.act([&] {
    waited_for->complete();
    waited_for->complete();
  });
  BOOST_TEST(actor.fibers().active() == 0u);
  actor.act([&] {
    waited_for->complete();
    forgotten->complete();
  });
}

// F-1
BOOST_AUTO_TEST_CASE(that_another_fiber_completes_goes_on_only_when_that_fiber_waits_or_ends) {
  std::string order;
  point first;
  point second;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    park(first);
    order += "c";
    second->complete();
    order += "d";
  });
  actor.start(2, [&] {
    first->complete();
    order += "a";
    second = wait_point::make();
    order += "b";
    second->wait_until(never, "the other");
    order += "e";
  });
  BOOST_TEST(order == "abcde");
}

BOOST_AUTO_TEST_CASE(needs_a_fiber) { BOOST_CHECK_THROW(wait_point::make(), failed_precondition_error); }

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(cancelling_a_fiber, virtual_system)

// F-2
BOOST_AUTO_TEST_CASE(ends_its_wait_and_every_later_wait_with_the_reason) {
  std::vector<std::string> outcomes;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    BOOST_TEST(!fiber_host::cancelled());
    for (auto i = 0; i < 3; ++i) outcomes.push_back(park_and_tell(here, now() + 1h));
    const auto ready = wait_point::make();
    ready->complete();
    BOOST_CHECK_THROW(ready->wait_until(never, "nothing"), cancelled_error);
    BOOST_CHECK_THROW(fiber_host::throw_if_cancelled(), cancelled_error);
    BOOST_TEST(fiber_host::cancelled());
  });
  actor.act([&] { actor.fibers().cancel(1, stop); });
  BOOST_TEST(outcomes == std::vector<std::string>(3, "cancelled: stop"), boost::test_tools::per_element());
  BOOST_TEST(actor.fibers().active() == 0u);
}

// F-2
BOOST_AUTO_TEST_CASE(before_it_waits_ends_the_first_wait) {
  std::string outcome;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    actor.fibers().cancel(1, stop);
    outcome = park_and_tell(here);
  });
  BOOST_TEST(outcome == "cancelled: stop");
}

// F-2
BOOST_AUTO_TEST_CASE(that_was_resumed_but_has_not_run_yet_still_reaches_it) {
  std::string outcome;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] { outcome = park_and_tell(here); });
  actor.act([&] {
    const fiber_host::turn scope{actor.fibers()};
    here->complete();
    actor.fibers().cancel(1, stop);
  });
  BOOST_TEST(outcome == "cancelled: stop");
}

BOOST_AUTO_TEST_CASE(for_another_reason_makes_that_the_cause) {
  std::vector<cause> causes;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    try {
      park(here);
    } catch (const cancelled_error& thrown) {
      causes = thrown.causes();
    }
  });
  actor.act([&] { actor.fibers().cancel(1, {status_code::unavailable, "the server is gone"}); });
  BOOST_REQUIRE(causes.size() == 1u);
  BOOST_TEST((causes[0] == cause{status_code::unavailable, "the server is gone"}));
}

BOOST_AUTO_TEST_CASE(reaches_only_the_one_that_is_named) {
  std::string first;
  std::string second;
  point here;
  point there;
  fiber_actor actor{*this};
  actor.start(1, [&] { first = park_and_tell(here); });
  actor.start(2, [&] { second = park_and_tell(there); });
  actor.act([&] {
    actor.fibers().cancel(2, stop);
    actor.fibers().cancel(77, stop);
  });
  BOOST_TEST(first == "");
  BOOST_TEST(second == "cancelled: stop");
  actor.act([&] { here->complete(); });
  BOOST_TEST(first == "completed");
}

BOOST_AUTO_TEST_CASE(by_cancel_all_reaches_every_one_but_none_that_starts_later) {
  std::vector<std::string> outcomes(3);
  std::vector<point> points(3);
  std::string later_outcome;
  point here;
  fiber_actor actor{*this};
  for (auto i = 0u; i < 3; ++i) actor.start(i, [&, i] { outcomes[i] = park_and_tell(points[i]); });
  actor.act([&] { actor.fibers().cancel_all(stop); });
  BOOST_TEST(outcomes == std::vector<std::string>(3, "cancelled: stop"), boost::test_tools::per_element());
  actor.start(1, [&] { later_outcome = park_and_tell(here); });
  actor.act([&] { here->complete(); });
  BOOST_TEST(later_outcome == "completed");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
