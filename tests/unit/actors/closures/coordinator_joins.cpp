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
