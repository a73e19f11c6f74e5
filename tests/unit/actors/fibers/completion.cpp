// Threads and fibers wait for the same thing, each in its own way; completion.hpp.
#include "fiber_actor.hpp"

#include <troupe/actors/fibers/completion.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace troupe {

BOOST_AUTO_TEST_SUITE(completion_suite)

namespace {

/// How a wait ended: "completed", or the message of what it threw.
std::string wait_and_tell(completion& event, time_point deadline) {
  try {
    event.wait_until(deadline, "the event");
    return "completed";
  } catch (const error& thrown) {
    return thrown.what();
  }
}

const std::string late = "deadline_exceeded: the deadline passed while waiting for the event";

BOOST_AUTO_TEST_CASE(a_completion_that_is_set_lets_everybody_pass_at_once_and_stays_set) {
  completion event;
  BOOST_TEST(!event.is_set());
  event.set();
  event.set();
  BOOST_TEST(event.is_set());
  // Even long after the deadline.
  BOOST_TEST(wait_and_tell(event, time_point{}) == "completed");
}

BOOST_AUTO_TEST_CASE(threads_that_wait_are_woken) {
  completion event;
  std::array<std::string, 4> told;  // Boost.Test belongs to one thread
  {
    std::vector<std::jthread> waiting;
    for (auto& how : told)
      waiting.emplace_back([&] { how = wait_and_tell(event, std::chrono::steady_clock::now() + 1h); });
    event.set();
  }
  for (const auto& how : told) BOOST_TEST(how == "completed");
}

BOOST_AUTO_TEST_CASE(a_thread_that_wakes_may_destroy_the_completion) {
  // What `set` touches after it has woken the thread is the next round's: in the same place, and not set.
  std::optional<completion> event;
  auto woken = 0;
  for (auto round = 0; round < 500; ++round) {
    event.emplace();
    {
      std::jthread setting{[&which = *event] { which.set(); }};
      if (wait_and_tell(*event, std::chrono::steady_clock::now() + 1h) == "completed") ++woken;
      event.emplace();
    }
    BOOST_REQUIRE(!event->is_set());
  }
  BOOST_TEST(woken == 500);
}

BOOST_AUTO_TEST_CASE(a_thread_gives_up_at_the_deadline) {
  completion event;
  BOOST_TEST(wait_and_tell(event, std::chrono::steady_clock::now() + 1ms) == late);
  event.set();
  BOOST_TEST(wait_and_tell(event, std::chrono::steady_clock::now()) == "completed");
}

struct world : virtual_system {
  completion event;
  fiber_actor actor{*this};
  std::optional<std::string> first;
  std::optional<std::string> second;

  void start(std::uint64_t key, std::optional<std::string>& told, time_point deadline) {
    actor.start(key, [&, deadline] { told = wait_and_tell(event, deadline); });
  }
};

BOOST_FIXTURE_TEST_CASE(fibers_that_wait_leave_their_actor_free_and_are_resumed_in_it, world) {
  start(1, first, now() + 1h);
  start(2, second, never);
  BOOST_TEST((!first && !second));
  std::jthread{[&] { event.set(); }}.join();
  run();
  BOOST_TEST((first == "completed" && second == "completed"));
}

BOOST_FIXTURE_TEST_CASE(a_fiber_gives_up_at_its_own_deadline_in_the_actors_time, world) {
  start(1, first, now() + 1s);
  start(2, second, now() + 2s);
  advance(1s);
  BOOST_TEST((first == late));
  BOOST_TEST(!second);
  event.set();
  run();
  BOOST_TEST((second == "completed"));
}

BOOST_FIXTURE_TEST_CASE(a_fiber_that_is_cancelled_stops_waiting, world) {
  start(1, first, never);
  actor.act([&] { actor.fibers().cancel(1, stop); });
  BOOST_TEST((first == "cancelled: stop"));
  event.set();
  run();
}

BOOST_FIXTURE_TEST_CASE(a_completion_may_be_set_after_the_actor_that_waited_has_ended, world) {
  start(1, first, never);
  actor.end();
  BOOST_TEST(first.has_value());
  event.set();
  run();
}

// W-2
BOOST_FIXTURE_TEST_CASE(waits_that_give_up_leave_nothing_behind, world) {
  start(1, first, now() + 1s);
  start(2, second, never);
  advance(1s);
  actor.act([&] { actor.fibers().cancel(2, stop); });
  BOOST_TEST((first == late));
  BOOST_TEST((second == "cancelled: stop"));
  event.set();
  BOOST_TEST(!scheduler().has_job());
}

BOOST_AUTO_TEST_CASE(a_wait_that_must_not_throw_says_whether_it_was_set) {
  completion event;
  BOOST_TEST(!event.wait_until(std::chrono::steady_clock::now() + 1ms));
  event.set();
  BOOST_TEST(event.wait_until(time_point{}));
}

BOOST_FIXTURE_TEST_CASE(a_fiber_that_blocks_its_thread_is_neither_parked_nor_cancelled, world) {
  std::optional<bool> ended;
  actor.act([&] {
    actor.fibers().run(1, [&] {
      actor.fibers().cancel(1, stop);
      std::jthread setting{[&] { event.set(); }};
      ended = event.block_for(1h);
    });
    // At once, not only at the end of the turn.
    BOOST_TEST((ended == true));
  });
  completion nothing;
  BOOST_TEST(!nothing.block_for(1ms));
}

BOOST_AUTO_TEST_CASE(observers_are_called_once_when_it_is_set_or_at_once_afterwards) {
  completion event;
  std::string order;
  event.on_set([&] {
    BOOST_TEST(event.is_set());
    order += "a";
  });
  event.on_set([&] { event.on_set([&] { order += "b"; }); });
  BOOST_TEST(order == "");
  event.set();
  event.set();
  event.on_set([&] { order += "c"; });
  BOOST_TEST(order == "abc");
}

BOOST_FIXTURE_TEST_CASE(the_current_time_is_the_one_that_waits_go_by, world) {
  advance(1h);
  std::optional<time_point> in_fiber;
  actor.start(1, [&] { in_fiber = current_time(); });
  BOOST_TEST((in_fiber == now()));
  const auto before = std::chrono::steady_clock::now();
  const auto in_thread = current_time();
  BOOST_TEST((before <= in_thread));
  BOOST_TEST((in_thread <= std::chrono::steady_clock::now()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
