// Which worker gets a closure, and when: after losses, with workers of other binaries, and with messages from
// strangers.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_dispatch_suite)

namespace {

coordinator_options office_of(int workers, std::uint32_t slots = 8) {
  return {.workers = workers, .windows = {.slots = slots, .window_max = slots}};
}

using closures = std::vector<std::shared_ptr<closure>>;

/// Lets the worker end all that it was sent from this order on, one by one, until nothing more comes; in the order of
/// their ends.
closures run_all(office& here, int worker, std::size_t from, const closures& all) {
  closures ended;
  std::vector<bool> known(all.size());
  for (auto next = from; next < here.heard(worker).orders.size(); ++next) {
    here.end(worker, next);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i]->ended() && !known[i]) {
        known[i] = true;
        ended.push_back(all[i]);
      }
  }
  return ended;
}

const status given_up{status_code::unavailable, "the worker gave its session up"};

}  // namespace

// --- after a loss ---

// C-3
BOOST_AUTO_TEST_CASE(what_was_lost_runs_first_and_in_order_also_if_it_is_tied_to_its_worker) {
  for (const auto worker : {-1, 0}) {
    office here{office_of(1, 2)};
    here.up();
    closures all;
    for (int i = 0; i < 5; ++i) all.push_back(here.schedule({.worker = worker}));
    BOOST_REQUIRE(here.heard().orders.size() == 2u);
    here.send(here.session(), {.outcomes = {}, .session_ended = given_up});
    BOOST_REQUIRE(here.heard().orders.size() == 4u);
    BOOST_TEST((run_all(here, 0, 2, all) == all));
  }
}

BOOST_AUTO_TEST_CASE(the_order_of_what_was_lost_is_that_of_its_sending_whatever_ended_before) {
  office here{office_of(1, 3)};
  here.up();
  closures all;
  for (int i = 0; i < 3; ++i) all.push_back(here.schedule());
  here.end(0, 0);
  here.end(0, 1);
  for (int i = 0; i < 3; ++i) all.push_back(here.schedule());
  BOOST_REQUIRE(here.heard().orders.size() == 5u);
  here.send(here.session(), {.outcomes = {}, .session_ended = given_up});
  BOOST_TEST((run_all(here, 0, 5, {all.begin() + 2, all.end()}) == closures{all.begin() + 2, all.end()}));
}

// --- other binaries ---

BOOST_AUTO_TEST_CASE(a_closure_waits_for_the_worker_that_can_run_it_while_that_is_absent) {
  office here{office_of(2)};
  here.up(0, true);
  const closures all{here.schedule(), here.schedule()};
  here.advance(1min);
  BOOST_TEST(!all[0]->ended());
  BOOST_TEST(here.heard(0).orders.empty());
  here.up(1);
  BOOST_TEST((run_all(here, 1, 0, all) == all));
  BOOST_TEST(all[0]->end_status().ok());
}

BOOST_AUTO_TEST_CASE(a_closure_that_nobody_can_run_fails_when_the_last_worker_has_come) {
  office here{office_of(2)};
  here.up(0, true);
  const auto nowhere = here.schedule();
  const auto& answer = here.join();
  BOOST_TEST(!nowhere->ended());
  here.up(1, true);
  BOOST_REQUIRE(nowhere->ended());
  BOOST_TEST((nowhere->end_status().code() == status_code::not_found));
  BOOST_REQUIRE(answer.given);
  BOOST_TEST((answer.problem.code() == status_code::not_found));
  // So does the next one, at once.
  const auto next = here.schedule();
  BOOST_TEST((next->end_status().code() == status_code::not_found));
}

BOOST_AUTO_TEST_CASE(a_closure_that_waits_for_a_worker_that_can_run_it_has_its_limit) {
  office here{office_of(2)};
  here.up(0, true);
  const auto late = here.schedule({.limit = 10s});
  const auto& answer = here.join();
  here.advance(10s);
  BOOST_REQUIRE(late->ended());
  BOOST_TEST((late->end_status().code() == status_code::deadline_exceeded));
  BOOST_TEST(answer.given);
}

BOOST_AUTO_TEST_CASE(an_error_cancels_what_waits_for_an_absent_worker) {
  office here{office_of(2)};
  here.up(0, true);
  const auto waits = here.schedule();
  here.schedule({.limit = 10s});
  const auto& answer = here.join();
  here.advance(10s);
  BOOST_TEST(answer.given);
  BOOST_TEST((waits->state() == closure::readiness::aborted));
  here.up(1);
  BOOST_TEST(here.heard(1).orders.empty());
}

BOOST_AUTO_TEST_CASE(a_closure_that_another_binary_passed_on_is_not_lost_with_the_worker_that_it_was_passed_to) {
  office here{office_of(3, 1)};
  here.up(0, true);
  here.up(1);
  const closures all{here.schedule(), here.schedule(), here.schedule()};
  BOOST_TEST(here.heard(1).orders.size() == 1u);
  here.down(1);
  here.up(2);
  BOOST_TEST((run_all(here, 2, 0, all) == all));
  BOOST_TEST(here.join().given);
}

BOOST_AUTO_TEST_CASE(closures_that_another_binary_passes_on_are_spread) {
  office here{office_of(3, 1)};
  here.up(0, true);
  here.up(1);
  here.up(2);
  for (int i = 0; i < 20; ++i) here.schedule();
  for (std::size_t i = 0; i < 10; ++i)
    for (const auto worker : {1, 2}) here.end(worker, i);
  BOOST_TEST(here.join().given);
}

BOOST_AUTO_TEST_CASE(what_another_binary_passes_on_goes_to_a_worker_that_hears) {
  office here{office_of(4, 8)};
  here.up(1);
  here.up(2);
  here.schedule();
  here.schedule();
  // The fourth one idles: the first two are asked, and one of them is found in a closure.
  here.up(3);
  here.heard(1).gives.busy = true;
  here.advance(10ms);
  BOOST_REQUIRE(here.heard(1).recalls.size() == 1u);
  here.schedule({.worker = 3});
  here.schedule({.worker = 3});
  here.up(0, true);
  here.schedule();
  BOOST_TEST(here.heard(1).orders.size() == 1u);
  BOOST_TEST(here.heard(2).orders.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_idles_is_asked_to_run_nothing_that_only_others_can) {
  office here{office_of(2, 8)};
  here.up(1);
  for (int i = 0; i < 8; ++i) here.schedule();
  here.up(0, true);
  here.advance(1s);
  BOOST_TEST(here.heard(1).recalls.empty());
}

// --- what has ended in a queue ---

BOOST_AUTO_TEST_CASE(closures_that_have_passed_their_limits_do_not_wait_for_an_absent_worker) {
  auto options = office_of(3, 1);
  options.turn_closures_max = 2;  // fewer than that may stay
  office here{options};
  here.up(0, true);
  std::vector<std::weak_ptr<closure>> all;
  for (int i = 0; i < 10; ++i)
    for (const auto worker : {1, -1}) all.push_back(here.schedule({.limit = 1s, .worker = worker}));
  const auto last = here.schedule({.worker = 1});
  here.advance(2s);
  BOOST_TEST(std::count_if(all.begin(), all.end(), [](const auto& each) { return !each.expired(); }) < 2);
  here.up(1);
  BOOST_TEST(here.heard(1).orders.size() == 1u);
  BOOST_TEST(!last->ended());
}

// --- strangers ---

BOOST_AUTO_TEST_CASE(workers_that_no_specification_names_are_not_taken_in) {
  office here{office_of(1)};
  const auto low = std::numeric_limits<int>::min();
  const auto high = std::numeric_limits<int>::max();
  for (const auto index : {low, -1, 1, high}) {
    here.send_up({"worker", index}, 1, here.desks[0]);
    here.send_down({"worker", index}, 1);
  }
  here.send_up({"ps", 0}, 1, here.desks[0]);
  here.send_down({"ps", 0}, 1);
  BOOST_TEST(here.heard().sessions.empty());
  here.up();
  const auto scheduled = here.schedule();
  here.end(0, 0);
  BOOST_TEST(scheduled->ended());
}

// M-2
BOOST_AUTO_TEST_CASE(the_loss_of_an_earlier_process_says_nothing_about_the_one_that_came_after_it) {
  office here{office_of(1)};
  here.up();
  here.up();
  here.send_down({"worker", 0}, 1);
  here.schedule();
  BOOST_TEST(here.heard().orders.size() == 1u);
  here.send_down({"worker", 0}, 2);
  here.schedule();
  BOOST_TEST(here.heard().orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_outcome_counts_only_if_it_comes_from_the_worker_of_its_session) {
  office here{office_of(2)};
  here.up(0);
  here.up(1);
  const auto scheduled = here.schedule({.worker = 0});
  run_outcomes forged{.outcomes = {{.id = here.heard(0).orders.at(0).second, .ended = {}, .result = {}}}};
  here.send(here.session(0), forged, 1);
  caf::anon_send(here.handle, outcome_atom_v, here.session(0), std::uint64_t{0}, from_elsewhere(forged));
  here.run();
  BOOST_TEST(!scheduled->ended());
  here.send(here.session(0), forged, 0);
  BOOST_TEST(scheduled->ended());
}

BOOST_AUTO_TEST_CASE(an_order_says_how_much_time_its_closure_has_left) {
  office here{office_of(1, 2)};
  here.schedule({.limit = 10s});
  here.advance(4s);
  here.up();
  here.schedule({.limit = 1h, .worker = 0});
  here.advance(1s);
  here.send(here.session(), {.outcomes = {}, .session_ended = given_up});
  // What is tied to its worker goes first when that is there again.
  const std::vector<duration> expected{6s, 1h, 1h - 1s, 5s};
  BOOST_TEST((here.heard().times_left == expected));
}

BOOST_AUTO_TEST_CASE(a_closure_for_a_worker_that_is_not_there_is_refused) {
  office here{office_of(2)};
  const auto wrong = here.schedule({.worker = 2});
  BOOST_REQUIRE(wrong->ended());
  BOOST_TEST((wrong->end_status().code() == status_code::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()
