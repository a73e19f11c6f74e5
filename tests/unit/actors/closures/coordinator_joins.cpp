// What a join waits for.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_joins_suite)

namespace {

struct small_office : office {
  small_office() { up(); }
};

const status broken{status_code::out_of_range, "row 7 of 5"};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_join)

BOOST_FIXTURE_TEST_CASE(waits_for_what_was_scheduled_before_it_and_for_nothing_later, small_office) {
  schedule();
  const auto& first = join();
  const auto later = schedule();
  const auto& second = join();
  BOOST_TEST(!first.given);
  end(0, 0);
  BOOST_TEST(first.given);
  BOOST_TEST(!second.given);
  BOOST_TEST(!later->ended());
  end(0, 1);
  BOOST_TEST(second.given);
}

BOOST_FIXTURE_TEST_CASE(waits_for_what_was_scheduled_just_before_it, small_office) {
  push(make());
  const auto& answer = join();
  BOOST_TEST(!answer.given);
  end(0, 0);
  BOOST_TEST(answer.given);
}

BOOST_FIXTURE_TEST_CASE(waits_for_earlier_closures_even_if_later_ones_end_first, small_office) {
  schedule();
  const auto& first = join();
  schedule();
  const auto& second = join();
  end(0, 1);
  BOOST_TEST(!first.given);
  BOOST_TEST(!second.given);
  end(0, 0);
  BOOST_TEST(first.given);
  BOOST_TEST(second.given);
}

BOOST_FIXTURE_TEST_CASE(is_not_starved_by_a_thread_that_goes_on_scheduling, small_office) {
  schedule();
  const auto& answer = join();
  for (std::size_t i = 0; i < 100; ++i) {
    schedule();
    if (i == 50) end(0, 0);
    BOOST_TEST(answer.given == (i >= 50));
  }
}

BOOST_FIXTURE_TEST_CASE(ends_at_its_limit_and_leaves_nothing_behind, small_office) {
  schedule();
  const auto& first = join(1s);
  const auto& second = join(2s);
  advance(1s);
  BOOST_TEST(first.given);
  BOOST_TEST(first.late);
  BOOST_TEST(!second.given);
  end(0, 0);
  BOOST_TEST(second.given);
  BOOST_TEST(!second.late);
}

// Who has given up hears of no error: the next one does.
BOOST_FIXTURE_TEST_CASE(takes_no_error_with_it_when_its_limit_is_over, small_office) {
  schedule();
  schedule();
  BOOST_TEST(!join(1s).given);
  advance(1s);
  end(0, 0, broken);
  const auto& next = join();
  end(0, 1, {status_code::cancelled, "as it was told"});
  BOOST_REQUIRE(next.given);
  BOOST_TEST((next.problem.code() == status_code::out_of_range));
}

// Neither when its limit passes while everything else is cancelled for that error.
BOOST_FIXTURE_TEST_CASE(whose_limit_is_over_while_an_error_is_raised_leaves_it_to_the_next, small_office) {
  schedule();
  schedule();
  end(0, 0, broken);
  const auto& late = join(1s);
  advance(1s);
  BOOST_TEST(late.late);
  end(0, 1, {status_code::cancelled, "as it was told"});
  BOOST_TEST(queue->error_pending);
  const auto& next = join();
  BOOST_REQUIRE(next.given);
  BOOST_TEST((next.problem.code() == status_code::out_of_range));
  BOOST_TEST(!queue->error_pending);
}

BOOST_FIXTURE_TEST_CASE(raises_the_error_of_a_later_closure_too, small_office) {
  const auto before = schedule();
  const auto& answer = join();
  schedule();
  end(0, 1, broken);
  end(0, 0, {status_code::cancelled, "as it was told"});
  BOOST_REQUIRE(answer.given);
  BOOST_TEST((answer.problem.code() == status_code::out_of_range));
  BOOST_TEST((before->state() == closure::readiness::aborted));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
