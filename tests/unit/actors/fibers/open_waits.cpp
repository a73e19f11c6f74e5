// Who waits in a process, as anybody may ask: fibers, threads, for what, for how long, and who has to go on first.
#include "fiber_actor.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/mutex.hpp>
#include <troupe/actors/fibers/open_waits.hpp>
#include <troupe/actors/fibers/sleep.hpp>

#include <boost/test/unit_test.hpp>

#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace troupe {

BOOST_AUTO_TEST_SUITE(open_waits_suite)

namespace {

struct waits_world : virtual_system {
  fiber_actor actor{*this};
  fiber_actor other{*this};

  std::vector<open_wait> told() { return open_waits(&system(), now()); }
};

/// What is said of the thread that waits for this, as soon as it does.
open_wait told_of_thread(std::string_view what) {
  const auto patience = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < patience) {
    for (auto& each : open_waits(nullptr, std::chrono::steady_clock::now()))
      if (each.what == what) return each;
    std::this_thread::yield();
  }
  return {};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_fiber_that_waits_is_told_with_its_thing_and_its_time_until_its_wait_ends, waits_world) {
  actor.start(7, [] {
    fiber_host::name_running("step(int)");
    const awaiting scope{"a read of variable", "v1"};
    sleep_for(5s);
  });
  advance(2s);
  const auto all = told();
  BOOST_TEST_REQUIRE(all.size() == 1u);
  BOOST_TEST(all[0].who.starts_with("fiber 7 of "));
  BOOST_TEST(all[0].who.ends_with(" (step(int))"));
  BOOST_TEST(all[0].what == "a read of variable \"v1\"");
  BOOST_TEST(all[0].time_ns == std::chrono::nanoseconds{2s}.count());
  BOOST_TEST(all[0].waiter != 0u);
  advance(4s);
  BOOST_TEST(told().empty());
}

BOOST_FIXTURE_TEST_CASE(a_wait_that_is_cancelled_is_not_told_any_more, waits_world) {
  point here;
  actor.start(1, [&] { park_and_tell(here); });
  BOOST_TEST(told().size() == 1u);
  actor.act([&] { actor.fibers().cancel(1, stop); });
  BOOST_TEST(told().empty());
}

BOOST_FIXTURE_TEST_CASE(the_longest_wait_is_told_first, waits_world) {
  actor.start(1, [] { sleep_for(10s); });
  advance(1s);
  other.start(2, [] { sleep_for(10s); });
  advance(1s);
  const auto all = told();
  BOOST_TEST_REQUIRE(all.size() == 2u);
  BOOST_TEST(all[0].time_ns == 2 * all[1].time_ns);
  advance(10s);
}

BOOST_FIXTURE_TEST_CASE(who_waits_for_a_lock_leads_to_who_holds_it, waits_world) {
  troupe::mutex first{60s};
  troupe::mutex second{60s};
  const auto hold = [](troupe::mutex& mine, troupe::mutex& wanted) {
    const std::scoped_lock lock{mine};
    sleep_for(1s);
    try {
      const std::scoped_lock too{wanted};
    } catch (const error&) {
    }
  };
  actor.start(1, [&] { hold(first, second); });
  other.start(2, [&] { hold(second, first); });
  advance(3s);
  const auto all = told();
  BOOST_TEST_REQUIRE(all.size() == 2u);
  BOOST_TEST(all[0].holder == all[1].waiter);
  BOOST_TEST(all[1].holder == all[0].waiter);
  BOOST_TEST(all[0].what.starts_with("a troupe::mutex, held by"));
  advance(120s);
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_blocked_is_told_by_its_number_and_its_name) {
  completion sign;
  std::thread waiting{[&] {
    ::pthread_setname_np(::pthread_self(), "reader");
    sign.wait_until(later(current_time(), 60s), "a sign of the test");
  }};
  const auto told = told_of_thread("a sign of the test");
  sign.set();
  waiting.join();
  BOOST_TEST(told.who.starts_with("thread "));
  BOOST_TEST(told.who.ends_with(" (reader)"));
  for (const auto& each : open_waits(nullptr, std::chrono::steady_clock::now()))
    BOOST_TEST(each.what != "a sign of the test");
}

BOOST_AUTO_TEST_CASE(threads_that_come_and_go_are_told_while_others_ask) {
  std::atomic<bool> over{false};
  std::vector<std::thread> waiters;
  for (auto i = 0; i < 4; ++i)
    waiters.emplace_back([&] {
      while (!over) {
        completion never_set;
        never_set.wait_until(std::chrono::steady_clock::now() + 10us);
      }
    });
  auto seen = std::size_t{0};
  const auto patience = std::chrono::steady_clock::now() + 60s;
  while (seen < 1000 && std::chrono::steady_clock::now() < patience)
    seen += open_waits(nullptr, std::chrono::steady_clock::now()).size();
  over = true;
  for (auto& each : waiters) each.join();
  BOOST_TEST(seen >= 1000u);
}

BOOST_FIXTURE_TEST_CASE(waits_over_their_limits_are_heard_of_but_short_ones_and_many_are_not, waits_world) {
  std::vector<open_wait> heard;
  const missed_deadlines hears{[&](const open_wait& missed) { heard.push_back(missed); }};
  const auto miss = [&](duration limit) {
    point here;
    actor.start(1, [&] { park_and_tell(here, later(now(), limit)); });
    advance(limit);
  };
  miss(missed_deadlines::least - 1ms);
  BOOST_TEST(heard.empty());
  miss(missed_deadlines::least);
  BOOST_TEST_REQUIRE(heard.size() == 1u);
  BOOST_TEST(heard[0].what == "a sign");
  BOOST_TEST(heard[0].who.starts_with("fiber 1 of "));
  BOOST_TEST(heard[0].time_ns == duration{missed_deadlines::least}.count());
  // The interval is one of the process.
  miss(missed_deadlines::least);
  BOOST_TEST(heard.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
