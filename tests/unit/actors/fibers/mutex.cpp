// A mutex that fibers hold over waits (X-1 to X-3, mutex.hpp), between fibers of one actor, of several, and threads.
#include "fiber_actor.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/mutex.hpp>
#include <troupe/actors/fibers/sleep.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace troupe {

BOOST_AUTO_TEST_SUITE(mutex_suite)

namespace {

constexpr auto step_name = "step(int)";

/// How locking ended: "locked", or the message of what it threw.
std::string lock_and_tell(troupe::mutex& which) {
  try {
    const std::scoped_lock lock{which};
    return "locked";
  } catch (const error& thrown) {
    return thrown.what();
  }
}

struct world : virtual_system {
  troupe::mutex one{10s};
  fiber_actor actor{*this};
  fiber_actor other{*this};
  std::string order;

  /// A fiber that holds the mutex for so long, and writes down that it has it; twice, if it is not cancelled.
  void hold(fiber_actor& where, std::uint64_t key, char sign, duration time) {
    where.start(key, [=, this] {
      fiber_host::name_running(step_name);
      try {
        const std::scoped_lock lock{one};
        order += sign;
        sleep_for(time);
        order += sign;
      } catch (const cancelled_error&) {
      }
    });
  }
};

}  // namespace

// --- X-1, X-2 ---

BOOST_FIXTURE_TEST_CASE(fibers_hold_it_over_waits_one_after_the_other_in_the_order_in_which_they_came, world) {
  const auto begin = now();
  hold(actor, 1, 'a', 1s);
  hold(other, 1, 'b', 1s);
  hold(actor, 2, 'c', 1s);
  hold(other, 2, 'd', 1s);
  BOOST_TEST(order == "a");
  advance(4s);
  BOOST_TEST(order == "aabbccdd");
  BOOST_TEST((now() - begin == 4s));
}

BOOST_FIXTURE_TEST_CASE(an_actor_goes_on_while_a_fiber_of_it_waits_for_the_mutex, world) {
  hold(other, 1, 'a', 5s);
  hold(actor, 1, 'b', 0s);
  actor.start(2, [&] {
    sleep_for(1s);
    order += 'x';
  });
  advance(2s);
  BOOST_TEST(order == "ax");
  advance(3s);
  BOOST_TEST(order == "axabb");
}

BOOST_FIXTURE_TEST_CASE(who_unlocks_it_with_somebody_in_line_does_not_get_it_again_before_him, world) {
  actor.start(1, [&] {
    one.lock();
    sleep_for(1s);
    one.unlock();
    BOOST_TEST(!one.try_lock());
    const std::scoped_lock again{one};
    order += 'a';
  });
  hold(actor, 2, 'b', 1s);
  advance(2s);
  BOOST_TEST(order == "bba");
}

BOOST_AUTO_TEST_CASE(threads_exclude_each_other) {
  troupe::mutex one;
  auto sum = 0;
  constexpr auto rounds = 20'000;
  {
    std::vector<std::jthread> adding;
    for (auto i = 0; i < 4; ++i)
      adding.emplace_back([&] {
        for (auto round = 0; round < rounds; ++round) {
          const std::scoped_lock lock{one};
          ++sum;
        }
      });
  }
  BOOST_TEST(sum == 4 * rounds);
}

BOOST_FIXTURE_TEST_CASE(a_thread_hands_it_to_a_fiber, world) {
  one.lock();
  hold(actor, 1, 'a', 0s);
  BOOST_TEST(order == "");
  one.unlock();
  run();
  BOOST_TEST(order == "aa");
}

BOOST_FIXTURE_TEST_CASE(a_fiber_hands_it_to_a_thread, world) {
  hold(actor, 1, 'a', 1s);
  std::string told;
  {
    std::atomic<bool> begun = false;
    std::jthread waiting{[&] {
      begun = true;
      told = lock_and_tell(one);
    }};
    while (!begun) std::this_thread::yield();
    advance(1s);
  }
  BOOST_TEST(told == "locked");
}

BOOST_AUTO_TEST_CASE(who_gets_it_may_destroy_it) {
  // What the one that handed it over touches after that is the next round's: in the same place.
  std::optional<troupe::mutex> one;
  for (auto round = 0; round < 500; ++round) {
    one.emplace();
    one->lock();
    std::atomic<bool> begun = false;
    {
      std::jthread next{[&] {
        begun = true;
        one->lock();
        one->unlock();
        one.emplace();
      }};
      while (!begun) std::this_thread::yield();
      one->unlock();
    }
    BOOST_REQUIRE(one->try_lock());
    one->unlock();
  }
}

BOOST_FIXTURE_TEST_CASE(two_are_locked_together_by_fibers_that_name_them_in_any_order, world) {
  troupe::mutex two;
  auto done = 0;
  const auto lock_both = [&](troupe::mutex& first, troupe::mutex& second) {
    for (auto i = 0; i < 10; ++i) {
      const std::scoped_lock both{first, second};
      sleep_for(1ms);
      ++done;
    }
  };
  actor.start(1, [&] { lock_both(one, two); });
  actor.start(2, [&] { lock_both(two, one); });
  other.start(1, [&] { lock_both(two, one); });
  advance(1s);
  BOOST_TEST(done == 30);
}

// --- what is checked ---

BOOST_FIXTURE_TEST_CASE(to_lock_what_one_holds_is_an_error, world) {
  std::string told;
  actor.start(1, [&] {
    const std::scoped_lock lock{one};
    told = lock_and_tell(one);
    BOOST_TEST(!one.try_lock());
  });
  BOOST_TEST(told.starts_with("failed_precondition: a troupe::mutex was locked by who holds it already"), told);
  BOOST_TEST(lock_and_tell(one) == "locked");
  one.lock();
  BOOST_TEST(lock_and_tell(one).starts_with("failed_precondition: a troupe::mutex was locked by who holds it"));
  one.unlock();
}

BOOST_FIXTURE_TEST_CASE(only_who_holds_it_can_unlock_it, world) {
  BOOST_CHECK_THROW(one.unlock(), failed_precondition_error);
  hold(actor, 1, 'a', 1s);
  BOOST_CHECK_THROW(one.unlock(), failed_precondition_error);
  auto refused = false;
  // Another fiber of the same thread.
  actor.start(2, [&] {
    try {
      one.unlock();
    } catch (const failed_precondition_error&) {
      refused = true;
    }
  });
  BOOST_TEST(refused);
  BOOST_TEST(!one.try_lock());
  advance(1s);
  BOOST_TEST(lock_and_tell(one) == "locked");
}

BOOST_FIXTURE_TEST_CASE(a_fiber_that_runs_where_the_holder_has_ended_does_not_hold_it, world) {
  actor.start(1, [&] { one.lock(); });
  std::string told;
  actor.start(2, [&] { told = lock_and_tell(one); });
  advance(10s);
  BOOST_TEST(told.starts_with("deadline_exceeded"), told);
}

// --- X-3 ---

BOOST_FIXTURE_TEST_CASE(a_wait_ends_at_its_limit_and_says_who_holds_the_mutex_and_for_how_long, world) {
  hold(other, 1, 'a', 1min);
  std::string told;
  advance(5s);
  actor.start(1, [&] { told = lock_and_tell(one); });
  advance(10s);
  BOOST_TEST(told ==
             "deadline_exceeded: a troupe::mutex was not free within 10000 ms, its limit: it is held by step(int) for "
             "at least 10000 ms");
  advance(45s);
  BOOST_TEST(order == "aa");
  BOOST_TEST(lock_and_tell(one) == "locked");
  BOOST_TEST(!scheduler().has_job());
}

BOOST_AUTO_TEST_CASE(a_threads_wait_ends_at_its_limit) {
  troupe::mutex one{2ms};
  const std::scoped_lock held{one};
  std::string told;
  std::jthread{[&] { told = lock_and_tell(one); }}.join();
  BOOST_TEST(told.find("held by a thread, or a fiber without a name") != std::string::npos, told);
}

BOOST_FIXTURE_TEST_CASE(a_cancellation_ends_the_wait_and_the_next_in_line_gets_the_mutex, world) {
  hold(other, 1, 'a', 5s);
  std::string told;
  actor.start(1, [&] { told = lock_and_tell(one); });
  hold(actor, 2, 'b', 0s);
  actor.act([&] { actor.fibers().cancel(1, stop); });
  BOOST_TEST(told == "cancelled: stop");
  advance(5s);
  BOOST_TEST(order == "aabb");
}

BOOST_FIXTURE_TEST_CASE(who_is_cancelled_in_the_moment_in_which_it_gets_the_mutex_passes_it_on, world) {
  one.lock();
  std::string told;
  actor.start(1, [&] { told = lock_and_tell(one); });
  hold(other, 1, 'b', 0s);
  actor.act([&] {
    one.unlock();
    actor.fibers().cancel(1, stop);
  });
  run();
  BOOST_TEST(told == "cancelled: stop");
  BOOST_TEST(order == "bb");
  BOOST_TEST(lock_and_tell(one) == "locked");
}

BOOST_FIXTURE_TEST_CASE(a_fiber_that_is_cancelled_while_it_holds_the_mutex_unlocks_it_on_its_way_out, world) {
  hold(other, 1, 'a', 1min);
  hold(actor, 1, 'b', 0s);
  other.act([&] { other.fibers().cancel(1, stop); });
  run();
  BOOST_TEST(order == "abb");
}

BOOST_FIXTURE_TEST_CASE(those_that_wait_for_a_mutex_that_is_destroyed_are_told, world) {
  std::optional<troupe::mutex> passing{std::in_place};
  passing->lock();
  std::vector<std::string> told(2);
  actor.start(1, [&] { told[0] = lock_and_tell(*passing); });
  other.start(1, [&] { told[1] = lock_and_tell(*passing); });
  passing.reset();
  run();
  for (const auto& each : told)
    BOOST_TEST(each == "failed_precondition: a troupe::mutex was destroyed while it was waited for");
}

// --- what fibers say of their waits ---

BOOST_FIXTURE_TEST_CASE(a_fiber_says_for_what_it_waits_and_for_how_long, world) {
  hold(other, 1, 'a', 5s);
  hold(actor, 1, 'b', 0s);
  actor.start(2, [] {
    const awaiting scope{"a read of variable", "v1"};
    sleep_for(4s);
  });
  advance(3s);
  actor.act([&] {
    const auto locking = actor.fibers().activity(1);
    BOOST_TEST_REQUIRE(locking.has_value());
    BOOST_TEST(locking->awaited == "a troupe::mutex, held by step(int) for at least 3000 ms");
    BOOST_TEST((locking->time == 3s));
    BOOST_TEST(actor.fibers().activity(2)->awaited == "a read of variable \"v1\"");
    BOOST_TEST(!actor.fibers().activity(3).has_value());
  });
  advance(2s);
  BOOST_TEST(order == "aabb");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
