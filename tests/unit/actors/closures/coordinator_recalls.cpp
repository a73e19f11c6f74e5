// What a worker holds while its thread is in a closure goes to one that idles.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_recalls_suite)

namespace {

coordinator_options office_of(int workers) { return {.workers = workers, .windows = {.slots = 8, .window_max = 8}}; }

/// Two workers; the first has been sent eight closures when the second comes.
struct crowd : office {
  crowd() : office(office_of(2)) {
    up(0);
    for (int i = 0; i < 8; ++i) all.push_back(schedule());
    BOOST_REQUIRE(heard(0).orders.size() == 8u);
    up(1);
  }

  closure_id order(std::size_t place) { return heard(0).orders.at(place).second; }
  /// All that have not begun when it has begun so many.
  void gives_back_all_but(std::size_t begun, bool busy = true) {
    recalled_orders told{.taken = 8, .closures = {}, .busy = busy};
    for (auto place = begun; place < 8; ++place) told.closures.push_back(order(place));
    heard(0).gives = told;
  }
  /// The first one says that it is at its mailbox again.
  void hears_again(std::uint64_t recall) {
    send(session(0), {.outcomes = {}, .session_ended = {}, .recall = recall}, 0);
  }

  std::vector<std::shared_ptr<closure>> all;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_coordinator, crowd)

BOOST_AUTO_TEST_CASE(gives_what_a_busy_worker_has_not_begun_to_one_that_idles_within_ten_milliseconds) {
  gives_back_all_but(1);
  advance(10ms);
  BOOST_TEST(heard(0).recalls == std::vector<std::uint64_t>{8}, boost::test_tools::per_element());
  BOOST_REQUIRE(heard(1).orders.size() == 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    end(1, i);
    BOOST_TEST(all.at(i + 1)->ended());  // in their order
  }
  BOOST_TEST(!all.front()->ended());
}

// C-3
BOOST_AUTO_TEST_CASE(gives_away_what_was_under_way_when_it_was_recalled) {
  heard(0).gives = recalled_orders{.taken = 5, .closures = {order(4)}, .busy = true};
  advance(10ms);
  BOOST_TEST(heard(1).orders.size() == 4u);
  for (std::size_t i = 0; i < 4; ++i) end(0, i);
  for (std::size_t i = 0; i < 4; ++i) end(1, i);
  for (const auto& each : all) BOOST_TEST(each->ended());
}

BOOST_AUTO_TEST_CASE(leaves_what_is_under_way_with_a_worker_that_hears_and_looks_again) {
  heard(0).gives = recalled_orders{.taken = 5, .closures = {order(4)}, .busy = false};
  advance(10ms);
  BOOST_TEST(heard(1).orders.size() == 1u);
  BOOST_TEST(heard(0).recalls.size() > 1u);
  // They have come, and one of them is in a closure.
  gives_back_all_but(6);
  advance(10ms);
  BOOST_TEST(heard(1).orders.size() == 3u);
}

BOOST_AUTO_TEST_CASE(asks_ever_more_rarely_while_data_is_under_way_and_as_before_when_it_has_come) {
  heard(0).gives = recalled_orders{.taken = 5, .closures = {}, .busy = false};
  advance(1s);
  BOOST_TEST(heard(0).recalls.size() < 12u);
  gives_back_all_but(7, false);
  advance(1s);
  BOOST_TEST(heard(1).orders.size() == 1u);
  for (std::size_t i = 0; i < 7; ++i) end(0, i);
  for (int i = 0; i < 16; ++i) schedule();
  for (std::size_t i = 0; i < heard(1).orders.size(); ++i) end(1, i);
  const auto before = heard(0).recalls.size();
  advance(10ms);
  BOOST_TEST(heard(0).recalls.size() > before);
}

BOOST_AUTO_TEST_CASE(asks_nothing_of_a_worker_that_has_ended_all_in_time) {
  for (std::size_t i = 0; i < 8; ++i) end(0, i);
  for (int i = 0; i < 4; ++i) schedule();
  advance(5ms);
  BOOST_TEST(heard(0).recalls.empty());
}

BOOST_AUTO_TEST_CASE(asks_once_for_the_same_closures) {
  heard(0).gives = recalled_orders{.taken = 8, .closures = {}, .busy = false};
  advance(1h);
  BOOST_TEST(heard(0).recalls.size() == 1u);
  BOOST_TEST(heard(1).orders.empty());
}

BOOST_AUTO_TEST_CASE(sends_nothing_to_a_worker_in_a_closure_until_it_says_that_it_hears) {
  gives_back_all_but(1);
  advance(10ms);
  for (int i = 0; i < 8; ++i) schedule();
  BOOST_TEST(heard(0).orders.size() == 8u);
  hears_again(7);  // of an earlier recall
  BOOST_TEST(heard(0).orders.size() == 8u);
  hears_again(8);
  BOOST_TEST(heard(0).orders.size() > 8u);
}

BOOST_AUTO_TEST_CASE(sends_nothing_to_a_worker_whose_places_are_taken_until_one_is_free) {
  gives_back_all_but(2, false);
  advance(10ms);
  BOOST_TEST(heard(1).orders.size() == 6u);
  for (int i = 0; i < 8; ++i) schedule();
  BOOST_TEST(heard(0).orders.size() == 8u);
  end(0, 0);
  BOOST_TEST(heard(0).orders.size() > 8u);
}

BOOST_AUTO_TEST_CASE(leaves_with_its_worker_what_is_only_for_that) {
  for (std::size_t i = 0; i < 8; ++i) end(0, i);
  for (int i = 0; i < 4; ++i) schedule({.worker = 0});
  gives_back_all_but(8);
  advance(1s);
  BOOST_TEST(heard(0).recalls.empty());
  BOOST_TEST(heard(0).tied.size() == 4u);
}

BOOST_AUTO_TEST_CASE(takes_outcomes_from_the_desk_of_a_worker_that_is_in_a_closure) {
  gives_back_all_but(2);
  advance(10ms);
  send(session(0), {.outcomes = {{.id = order(0)}}, .session_ended = {}, .by_desk = true}, 0);
  BOOST_TEST(all.front()->ended());
  schedule();
  BOOST_TEST(heard(0).orders.size() == 8u);  // it is still in a closure
}

// C-1, C-3
BOOST_AUTO_TEST_CASE(ends_the_session_of_a_worker_that_does_not_answer_and_runs_its_closures_elsewhere) {
  heard(0).desk_answers = false;
  advance(4s);
  BOOST_TEST(heard(0).recalls.size() == 1u);
  BOOST_TEST(heard(0).sessions.size() == 1u);
  advance(2s);
  BOOST_TEST(heard(0).sessions.size() == 2u);
  BOOST_TEST(heard(0).orders.size() + heard(1).orders.size() == 16u);
}

// M-2
BOOST_AUTO_TEST_CASE(ignores_what_another_session_gives_back) {
  heard(0).desk_answers = false;
  advance(7ms);
  BOOST_REQUIRE(heard(0).recalls.size() == 1u);
  down(0);
  BOOST_REQUIRE(heard(1).orders.size() == 8u);
  up(0);
  advance(10s);
  BOOST_TEST(heard(0).sessions.size() == 2u);
}

BOOST_AUTO_TEST_CASE(believes_nothing_about_closures_that_the_worker_does_not_hold) {
  recalled_orders told{.taken = 8, .closures = {order(7), order(7), 12345, ~closure_id{0}}, .busy = true};
  heard(0).gives = told;
  advance(10ms);
  BOOST_TEST(heard(1).orders.size() == 1u);
  for (std::size_t i = 0; i < 7; ++i) end(0, i);
  end(1, 0);
  for (const auto& each : all) BOOST_TEST(each->ended());
}

BOOST_AUTO_TEST_CASE(cancels_what_comes_back_while_an_error_is_raised) {
  gives_back_all_but(2);
  // The join is asked for when the recall is on its way.
  end(0, 0, {status_code::internal, "failed"});
  clock().advance_time(2ms);
  run();
  clock().advance_time(2ms);
  const auto& join = ask_for_join();
  run();
  BOOST_REQUIRE(heard(0).recalls.size() == 1u);
  BOOST_TEST(heard(1).orders.empty());
  BOOST_TEST(!join.given);
  for (std::size_t i = 2; i < 8; ++i) BOOST_TEST((all.at(i)->state() == closure::readiness::aborted));
  end(0, 1, {status_code::cancelled, "as it was told"});
  BOOST_TEST(join.given);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
