// What a worker holds while its thread is in a closure goes to one that idles.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_recalls_suite)

namespace {

using numbers = std::vector<std::uint64_t>;

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
  /// All that have not begun when it has begun so many; closures have the numbers 1 to 8.
  void gives_back_all_but(std::uint64_t begun, bool busy = true) {
    heard(0).gives = {.given = numbers_from(begun + 1), .kept = {}, .busy = busy};
  }
  static numbers numbers_from(std::uint64_t first) {
    numbers all;
    for (; first <= 8; ++first) all.push_back(first);
    return all;
  }
  /// The first one says that it is at its mailbox again.
  void hears_again(std::uint64_t recall) { send(session(0), {}, 0, recall); }

  std::vector<std::shared_ptr<closure>> all;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_coordinator, crowd)

BOOST_AUTO_TEST_CASE(gives_what_a_busy_worker_has_not_begun_to_one_that_idles_within_ten_milliseconds) {
  gives_back_all_but(1);
  advance(10ms);
  BOOST_REQUIRE(heard(0).recalls.size() == 1u);
  BOOST_TEST(heard(0).recalls.front().numbers == numbers_from(1), boost::test_tools::per_element());
  BOOST_REQUIRE(heard(1).orders.size() == 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    end(1, i);
    BOOST_TEST(all.at(i + 1)->ended());  // in their order
  }
  BOOST_TEST(!all.front()->ended());
}

BOOST_AUTO_TEST_CASE(leaves_what_is_under_way_where_it_is_and_asks_again_ever_more_rarely) {
  heard(0).gives = {.given = {5}, .kept = {6, 7, 8}, .busy = true};
  advance(10ms);
  BOOST_TEST(heard(1).orders.size() == 1u);
  end(1, 0);
  advance(1s);
  BOOST_TEST(heard(0).recalls.size() > 5u);
  BOOST_TEST(heard(0).recalls.size() < 15u);
  BOOST_TEST(heard(0).recalls.back().numbers == (numbers{6, 7, 8}), boost::test_tools::per_element());
  // They have come.
  gives_back_all_but(5);
  advance(200ms);
  BOOST_TEST(heard(1).orders.size() == 4u);
}

BOOST_AUTO_TEST_CASE(asks_soon_for_what_comes_later_though_other_data_is_under_way) {
  heard(0).gives = {.given = {}, .kept = numbers_from(1), .busy = false};
  advance(10s);
  for (std::size_t i = 0; i < 7; ++i) end(0, i);
  down(1);
  schedule();
  up(1);
  advance(5ms);
  BOOST_TEST(heard(0).recalls.back().numbers.back() == 9u);
}

// However often it moves, data that moves arrives.
BOOST_AUTO_TEST_CASE(leaves_what_has_moved_alone_for_twice_as_long_each_time) {
  for (std::size_t i = 0; i < 7; ++i) end(0, i);
  duration held{};
  for (auto moves = 0, at = 0; moves < 8; ++moves, at = 1 - at) {
    const auto other = 1 - at;
    const auto before = heard(other).orders.size();
    const auto came = now();
    heard(at).gives = {.given = {heard(at).orders.size()}, .kept = {}, .busy = true};
    while (heard(other).orders.size() == before) advance(1ms);
    BOOST_TEST((now() - came >= held));
    held = now() - came;
    send(session(at), {}, at, heard(at).recalls.back().serial);
  }
  BOOST_TEST((held > 200ms));
  BOOST_TEST(!all.back()->ended());
}

BOOST_AUTO_TEST_CASE(asks_nothing_of_a_worker_that_has_ended_all_in_time) {
  for (std::size_t i = 0; i < 8; ++i) end(0, i);
  for (int i = 0; i < 4; ++i) schedule();
  advance(3ms);
  BOOST_TEST(heard(0).recalls.empty());
}

BOOST_AUTO_TEST_CASE(asks_once_for_what_has_begun) {
  advance(1h - 1min);
  BOOST_TEST(heard(0).recalls.size() == 1u);
  BOOST_TEST(heard(1).orders.empty());
}

BOOST_AUTO_TEST_CASE(asks_nobody_while_all_compute) {
  schedule({.worker = 1});
  advance(1s);
  BOOST_TEST(heard(0).recalls.empty());
  end(1, 0);
  advance(10ms);
  BOOST_TEST(heard(0).recalls.size() == 1u);
}

BOOST_AUTO_TEST_CASE(sends_nothing_to_a_worker_in_a_closure_until_it_says_that_it_hears) {
  gives_back_all_but(1);
  advance(10ms);
  for (int i = 0; i < 8; ++i) schedule();
  BOOST_TEST(heard(0).orders.size() == 8u);
  hears_again(0);  // of an earlier recall
  BOOST_TEST(heard(0).orders.size() == 8u);
  hears_again(1);
  BOOST_TEST(heard(0).orders.size() > 8u);
}

BOOST_AUTO_TEST_CASE(hears_that_a_worker_hears_though_its_result_is_under_way) {
  gives_back_all_but(1);
  advance(10ms);
  for (int i = 0; i < 8; ++i) schedule();
  const auto large = value::of(tensor::full(shape{1 << 16}, 1.0f));
  send(session(0), {.outcomes = {{.id = order(0), .ended = {}, .result = large}}}, 0, 1);
  BOOST_TEST(!all.front()->ended());
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
  advance(1s);
  BOOST_TEST(heard(0).recalls.empty());
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

BOOST_AUTO_TEST_CASE(believes_nothing_about_closures_that_it_has_not_asked_for) {
  end(0, 0);
  heard(0).gives = {.given = {1, 8, 8, 12345, ~std::uint64_t{0}}, .kept = {}, .busy = true};
  advance(10ms);
  BOOST_TEST(heard(1).orders.size() == 1u);
  for (std::size_t i = 1; i < 7; ++i) end(0, i);
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

// --- what was cancelled ---

BOOST_AUTO_TEST_CASE(does_not_dismiss_a_worker_for_what_it_was_cancelled_before_it_began) {
  schedule({.worker = 1});  // nobody idles
  cancel(all.at(4));
  gives_back_all_but(4);
  advance(6s);
  BOOST_REQUIRE(heard(0).recalls.size() == 1u);
  BOOST_TEST(heard(0).recalls.front().numbers == numbers{5}, boost::test_tools::per_element());
  BOOST_TEST(heard(0).recalls.front().cancelled);
  advance(1min);
  BOOST_TEST(heard(0).dismissals.empty());
  BOOST_TEST(heard(0).sessions.size() == 1u);
}

BOOST_AUTO_TEST_CASE(dismisses_a_worker_that_has_begun_what_was_cancelled) {
  schedule({.worker = 1});
  cancel(all.at(0));
  advance(6s);
  BOOST_REQUIRE(heard(0).dismissals.size() == 1u);
  BOOST_TEST(heard(0).dismissals.front().message().find("did not end") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(dismisses_a_worker_whose_process_does_not_answer_for_what_was_cancelled) {
  schedule({.worker = 1});
  cancel(all.at(0));
  heard(0).desk_answers = false;
  advance(9s);
  BOOST_TEST(heard(0).dismissals.empty());
  advance(2s);
  BOOST_TEST(heard(0).dismissals.size() == 1u);
}

BOOST_AUTO_TEST_CASE(waits_again_for_a_worker_that_hears_of_a_cancellation) {
  schedule({.worker = 1});
  cancel(all.at(0));
  heard(0).gives = {.given = {}, .kept = {1}, .busy = false};
  advance(6s);
  BOOST_TEST(heard(0).dismissals.empty());
  heard(0).gives = {};
  advance(5s);
  BOOST_TEST(heard(0).dismissals.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
