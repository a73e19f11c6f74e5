// Workers that do not end what they were told to end.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_cancellation_suite)

namespace {

constexpr coordinator_options two_workers{.workers = 2, .cancel_limit = 5s};

struct office_of_two : office {
  office_of_two() : office(two_workers) {
    up(0);
    up(1);
  }
};

const status broken{status_code::out_of_range, "row 7 of 5"};
const status stopped{status_code::cancelled, "as it was told"};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(a_coordinator)

// C-1, C-2
BOOST_FIXTURE_TEST_CASE(raises_an_error_although_a_closure_ignores_its_cancellation, office_of_two) {
  const auto ignores = schedule();
  const auto fails = schedule();
  const auto& answer = join();
  end(1, 0, broken);
  BOOST_REQUIRE(heard(0).cancelled.size() == 1u);
  heard(0).busy = true;
  advance(5s - 1ns);
  BOOST_TEST(!answer.given);
  BOOST_TEST(heard(0).dismissals.empty());
  advance(1ns);
  BOOST_REQUIRE(answer.given);
  BOOST_TEST(contains(answer.problem.render(), "row 7 of 5"), answer.problem.render());
  BOOST_TEST((ignores->state() == closure::readiness::aborted));
  BOOST_REQUIRE(heard(0).dismissals.size() == 1u);
  const auto why = heard(0).dismissals[0].render();
  for (const auto* part : {"/job:worker/task:0", "5000 ms", "cancel_limit", "throw_if_cancelled"})
    BOOST_TEST(contains(why, part), why);
  BOOST_TEST(heard(1).dismissals.empty());
  // The other one works on, and the one that was dismissed is taken in again when it answers.
  schedule();
  BOOST_TEST(heard(1).orders.size() == 2u);
  heard(0).busy = false;
  advance(10s);
  BOOST_TEST(heard(0).sessions.size() == 2u);
  BOOST_TEST(fails->ended());
}

BOOST_FIXTURE_TEST_CASE(gives_the_other_closures_of_such_a_worker_to_others, office_of_two) {
  const auto ignores = schedule({.worker = 0});
  const auto innocent = schedule();
  const auto another = schedule();
  BOOST_REQUIRE(heard(0).orders.size() == 2u);
  BOOST_REQUIRE(heard(1).orders.size() == 1u);
  cancel(ignores);
  heard(0).busy = true;
  advance(5s);
  BOOST_TEST(heard(0).dismissals.size() == 1u);
  BOOST_REQUIRE(heard(1).orders.size() == 2u);
  end(1, 0);
  end(1, 1);
  BOOST_TEST(innocent->ended());
  BOOST_TEST(another->ended());
  // Nothing is in flight any more.
  BOOST_TEST(join().given);
}

BOOST_FIXTURE_TEST_CASE(expects_the_end_of_what_passed_its_limit, office_of_two) {
  schedule({.limit = 1s});
  heard(0).busy = true;
  advance(6s - 1ns);
  BOOST_TEST(heard(0).dismissals.empty());
  advance(1ns);
  BOOST_TEST(heard(0).dismissals.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(expects_each_end_within_a_limit_of_its_own, office_of_two) {
  const auto obeys = schedule({.worker = 0});
  const auto ignores = schedule({.worker = 1});
  cancel(obeys);
  advance(3s);
  cancel(ignores);
  end(0, 0, stopped);
  heard(1).busy = true;
  advance(5s - 1ns);
  BOOST_TEST(heard(1).dismissals.empty());
  advance(1ns);
  BOOST_TEST(heard(1).dismissals.size() == 1u);
  BOOST_TEST(heard(0).dismissals.empty());
}

BOOST_FIXTURE_TEST_CASE(dismisses_nobody_who_answers_in_time, office_of_two) {
  cancel(schedule());
  advance(3s);
  cancel(schedule({.worker = 0}));
  advance(1s);
  end(0, 0, stopped);
  advance(3s);
  end(0, 1, stopped);
  advance(1min);
  BOOST_TEST(heard(0).dismissals.empty());
  BOOST_TEST(heard(0).sessions.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(dismisses_nobody_whose_answer_waits_for_tensors_that_are_under_way, office_of_two) {
  const auto large = schedule({.worker = 0});
  const auto unwanted = schedule({.worker = 0});
  outcome(session(0), heard(0).orders.at(0).second, large_tensor());
  cancel(unwanted);
  end(0, 1, stopped);
  advance(8s);
  transport->complete(0);
  run();
  BOOST_TEST(large->ended());
  advance(1min);
  BOOST_TEST(heard(0).dismissals.empty());
  BOOST_TEST(join().given);
}

// C-2
BOOST_FIXTURE_TEST_CASE(holds_a_join_until_a_cancelled_closure_has_stopped, office_of_two) {
  const auto unwanted = schedule();
  const auto& answer = join();
  cancel(unwanted);
  BOOST_TEST(unwanted->ended());
  BOOST_TEST(!answer.given);
  end(0, 0, stopped);
  BOOST_TEST(answer.given);
  BOOST_TEST(answer.problem.ok());
}

// C-2
BOOST_FIXTURE_TEST_CASE(says_that_a_cancelled_closure_is_over_when_its_worker_has_ended_it, office_of_two) {
  const auto unwanted = schedule();
  const auto& once = cancel_and_hear(unwanted);
  const auto& again = cancel_and_hear(unwanted);
  BOOST_TEST((unwanted->state() == closure::readiness::aborted));
  BOOST_TEST(!once);
  BOOST_TEST(!again);
  end(0, 0, stopped);
  BOOST_TEST(once);
  BOOST_TEST(again);
  BOOST_TEST(cancel_and_hear(unwanted));
}

BOOST_FIXTURE_TEST_CASE(says_that_a_cancelled_closure_is_over_when_its_worker_is_given_up, office_of_two) {
  const auto& over = cancel_and_hear(schedule());
  heard(0).busy = true;
  advance(5s - 1ns);
  BOOST_TEST(!over);
  advance(1ns);
  BOOST_TEST(over);
  const auto& lost = cancel_and_hear(schedule());
  BOOST_TEST(!lost);
  down(1);
  BOOST_TEST(lost);
}

BOOST_AUTO_TEST_CASE(says_at_once_that_what_waits_in_its_queue_is_over_when_it_is_cancelled) {
  office here{two_workers};
  const auto input = here.schedule();
  const auto waits = here.schedule({}, {{.producer = input}});
  BOOST_TEST(here.cancel_and_hear(waits));
  BOOST_TEST(here.cancel_and_hear(input));
  BOOST_TEST(here.join().given);
}

BOOST_AUTO_TEST_CASE(answers_a_join_at_once_when_the_last_closure_that_waits_is_cancelled) {
  office here{two_workers};
  const auto unwanted = here.schedule();
  const auto& answer = here.join();
  BOOST_TEST(!answer.given);
  here.cancel(unwanted);
  BOOST_TEST(answer.given);
  BOOST_TEST(answer.problem.ok());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
