#include "unit/actors/fibers/fiber_actor.hpp"

#include <troupe/actors/closures/internal/submission_queue.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(submission_queue_suite)

namespace {

std::shared_ptr<closure> new_closure(duration queue_limit = 0s) {
  schedule_options options;
  options.queue_limit = queue_limit;
  return std::make_shared<closure>(function_id{}, value{}, std::vector<closure_input>{}, options);
}

const status over{status_code::cancelled, "the coordinator has ended"};

std::vector<std::shared_ptr<closure>> drained(submission_queue& queue) {
  std::vector<std::shared_ptr<closure>> result{nullptr, nullptr};
  queue.drain(result);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_submission_queue)

BOOST_AUTO_TEST_CASE(hands_over_what_was_pushed_in_order) {
  submission_queue queue;
  const auto first = new_closure();
  const auto second = new_closure();
  queue.push(first);
  queue.push(second);
  const auto got = drained(queue);
  BOOST_REQUIRE(got.size() == 2u);
  BOOST_TEST(got[0] == first);
  BOOST_TEST(got[1] == second);
  BOOST_TEST(drained(queue).empty());
}

BOOST_AUTO_TEST_CASE(wakes_the_coordinator_once_for_all_that_is_pushed_before_it_drains) {
  submission_queue queue;
  BOOST_TEST(queue.push(new_closure()));
  BOOST_TEST(!queue.push(new_closure()));
  BOOST_TEST(!queue.push(new_closure()));
  drained(queue);
  BOOST_TEST(queue.push(new_closure()));
}

BOOST_AUTO_TEST_CASE(counts_closures_until_they_end_and_not_only_until_they_are_drained) {
  submission_queue queue{2};
  queue.push(new_closure());
  queue.push(new_closure());
  drained(queue);
  BOOST_CHECK_THROW(queue.push(new_closure()), resource_exhausted_error);
  queue.release(1);
  BOOST_CHECK_NO_THROW(queue.push(new_closure()));
  BOOST_CHECK_THROW(queue.push(new_closure()), resource_exhausted_error);
  queue.release(2);
  BOOST_CHECK_NO_THROW(queue.push(new_closure()));
  BOOST_CHECK_NO_THROW(queue.push(new_closure()));
}

BOOST_AUTO_TEST_CASE(refuses_a_closure_for_which_no_room_comes_and_says_what_helps) {
  submission_queue queue{1};
  queue.push(new_closure());
  BOOST_CHECK_EXCEPTION(queue.push(new_closure(7ms)), resource_exhausted_error, [](const auto& thrown) {
    const auto has = [&](const char* part) { return thrown.message().find(part) != std::string::npos; };
    return has("holds 1 closures") && has("7 ms") && has("queue_capacity");
  });
  BOOST_TEST(drained(queue).size() == 1u);
}

BOOST_AUTO_TEST_CASE(lets_a_closure_wait_until_another_has_ended) {
  for (const auto patience : {duration{1min}, duration::max()}) {
    for (auto round = 0; round < 300; ++round) {
      submission_queue queue{1};
      queue.push(new_closure());
      std::atomic<bool> released{false};
      auto pushed_after_release = false;
      std::thread pushing{[&] {
        queue.push(new_closure(patience));
        pushed_after_release = released;
      }};
      for (auto turn = 0; turn < round % 20; ++turn) std::this_thread::yield();
      released = true;
      queue.release(1);
      pushing.join();
      BOOST_REQUIRE(pushed_after_release);
    }
  }
}

BOOST_AUTO_TEST_CASE(never_holds_more_than_its_capacity_whoever_pushes) {
  constexpr auto capacity = 8u;
  constexpr auto each = 2000;
  submission_queue queue{capacity};
  std::vector<std::thread> threads;
  for (auto i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (auto n = 0; n < each; ++n) queue.push(new_closure(1min));
    });
  }
  auto taken = 0u;
  auto most = std::size_t{0};
  while (taken < 4u * each) {
    const auto got = drained(queue).size();
    most = std::max(most, got);
    taken += got;
    queue.release(got);
    if (got == 0) std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  BOOST_TEST(taken == 4u * each);
  BOOST_TEST(most <= capacity);
}

BOOST_FIXTURE_TEST_CASE(parks_a_fiber_until_there_is_room_or_its_limit_has_passed, virtual_system) {
  submission_queue queue{1};
  queue.push(new_closure());
  std::string told;
  fiber_actor actor{*this};
  const auto push = [&](std::uint64_t key, duration limit) {
    actor.start(key, [&, limit] {
      try {
        queue.push(new_closure(limit));
        told += "pushed ";
      } catch (const resource_exhausted_error&) {
        told += "refused ";
      } catch (const cancelled_error&) {
        told += "cancelled ";
      }
    });
  };
  push(1, 1s);
  push(2, 1h);
  push(3, 1h);
  BOOST_TEST(told == "");
  advance(1s);
  BOOST_TEST(told == "refused ");
  actor.act([&] { actor.fibers().cancel(3, over); });
  BOOST_TEST(told == "refused cancelled ");
  queue.release(1);
  run();
  BOOST_TEST(told == "refused cancelled pushed ");
}

// C-1
BOOST_AUTO_TEST_CASE(ends_what_still_waits_in_it_when_it_is_closed) {
  submission_queue queue;
  const auto taken = new_closure();
  const auto left = new_closure();
  queue.push(taken);
  drained(queue);
  queue.push(left);
  queue.close(over);
  BOOST_TEST((left->end_status() == over));
  BOOST_TEST(!taken->ended());
  BOOST_TEST(drained(queue).empty());
}

BOOST_AUTO_TEST_CASE(refuses_everything_after_its_end_with_the_first_reason) {
  submission_queue queue{1};
  queue.push(new_closure());
  queue.close(over);
  queue.close({status_code::internal, "another"});
  BOOST_CHECK_EXCEPTION(queue.push(new_closure(1min)), cancelled_error,
                        [](const auto& thrown) { return thrown.get_status() == over; });
}

BOOST_AUTO_TEST_CASE(wakes_those_that_wait_for_room_when_it_is_closed) {
  for (auto round = 0; round < 300; ++round) {
    submission_queue queue{1};
    queue.push(new_closure());
    std::atomic<int> refused{0};
    std::vector<std::thread> waiting;
    for (auto i = 0; i < 2; ++i) {
      waiting.emplace_back([&] {
        try {
          queue.push(new_closure(1min));
        } catch (const cancelled_error&) {
          ++refused;
        }
      });
    }
    for (auto turn = 0; turn < round % 20; ++turn) std::this_thread::yield();
    queue.close(over);
    for (auto& thread : waiting) thread.join();
    BOOST_REQUIRE(refused == 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
