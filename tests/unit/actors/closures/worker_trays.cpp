#include <troupe/actors/closures/internal/worker_trays.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(worker_trays_suite)

namespace {

constexpr session_id session = 7;

struct desk : worker_trays {
  desk() { begin(session, {}); }

  std::vector<closure_outcome> ended;

  /// Orders whose ids are their numbers.
  void put_numbers(std::uint64_t first, std::uint64_t last) {
    std::vector<closure_order> orders;
    for (auto number = first; number <= last; ++number) orders.push_back({.id = number, .number = number});
    put(std::move(orders));
  }
  /// Ends the worker's turn.
  std::vector<closure_outcome> rest() { return take_outcomes(ended, true).outcomes; }
  bool has_orders() const { return !orders().empty(); }
  recalled_orders give(std::uint64_t recall) { return give_back(session, recall).value(); }
};

using ids = std::vector<closure_id>;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_trays, desk)

// WT-1
BOOST_AUTO_TEST_CASE(give_back_what_was_not_taken_and_nothing_else) {
  put_numbers(1, 4);
  BOOST_TEST(take(ended)->id == 1u);
  const auto told = give(3);
  BOOST_TEST(told.taken == 4u);
  BOOST_TEST(told.closures == (ids{2, 3}), boost::test_tools::per_element());
  BOOST_TEST(take(ended)->id == 4u);
  BOOST_TEST(!take(ended));
  BOOST_TEST(take_outcomes(ended, false).recall == 3u);
}

BOOST_AUTO_TEST_CASE(leave_out_what_comes_after_it_was_given_back) {
  begin_turn();
  put_numbers(1, 1);
  BOOST_TEST(give(4).taken == 1u);
  put_numbers(2, 5);
  BOOST_TEST(orders() == ids{5}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keep_what_is_under_way_to_a_worker_that_hears) {
  put_numbers(1, 1);
  const auto told = give(4);
  BOOST_TEST(told.taken == 1u);
  BOOST_TEST(told.closures == ids{1}, boost::test_tools::per_element());
  put_numbers(2, 4);
  BOOST_TEST(orders() == (ids{2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keep_what_only_this_worker_may_run) {
  put({{.id = 9}});
  put_numbers(1, 1);
  BOOST_TEST(give(1).closures == ids{1}, boost::test_tools::per_element());
  put({{.id = 10}});
  BOOST_TEST(orders() == (ids{9, 10}), boost::test_tools::per_element());
}

// M-2
BOOST_AUTO_TEST_CASE(give_nothing_back_in_another_session) {
  put_numbers(1, 2);
  BOOST_TEST(!give_back(session - 1, 2).has_value());
  BOOST_TEST(orders().size() == 2u);
  end();
  BOOST_TEST(!give_back(session, 2).has_value());
  BOOST_TEST(!has_orders());
  begin(session + 1, {});
  put_numbers(1, 1);
  BOOST_TEST(orders().size() == 1u);
}

BOOST_AUTO_TEST_CASE(forget_what_is_removed) {
  put_numbers(1, 3);
  BOOST_TEST(remove(2));
  BOOST_TEST(!remove(2));
  BOOST_TEST(orders() == (ids{1, 3}), boost::test_tools::per_element());
}

// WT-2
BOOST_AUTO_TEST_CASE(leave_outcomes_to_the_worker_unless_it_is_in_a_turn) {
  ended.push_back({.id = 1});
  BOOST_TEST(!take(ended));
  BOOST_TEST(ended.empty());
  BOOST_TEST(take_outcomes_of_busy().outcomes.empty());
  begin_turn();
  BOOST_TEST(give(0).busy);
  BOOST_TEST(take_outcomes_of_busy().outcomes.size() == 1u);
  ended.push_back({.id = 2});
  BOOST_TEST(!take(ended));
  ended.push_back({.id = 3});
  BOOST_TEST(rest().size() == 2u);
  BOOST_TEST(!give(0).busy);
  BOOST_TEST(rest().empty());
}

// WT-3
BOOST_AUTO_TEST_CASE(have_one_alarm_at_a_time) {
  begin_turn();
  BOOST_TEST(set_alarm());
  BOOST_TEST(!set_alarm());
  ended.push_back({.id = 1});
  put_outcomes(ended);
  const auto unsent = take_outcomes_of_busy();
  BOOST_TEST(unsent.session == session);
  BOOST_TEST(unsent.outcomes.size() == 1u);
  BOOST_TEST(set_alarm());
  rest();
  BOOST_TEST(take_outcomes_of_busy().outcomes.empty());
  BOOST_TEST(set_alarm());
}

// WT-1
BOOST_AUTO_TEST_CASE(let_each_order_be_taken_or_given_back_once_while_others_do_both) {
  constexpr std::uint64_t count = 20'000;
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<bool> over = false;
  std::vector<closure_id> begun;
  std::set<closure_id> given;
  std::thread worker{[&] {
    for (std::uint64_t number = 1; number <= count; number += 4) {
      sent = number + 3;  // the coordinator has numbered them before they come
      if (number % 3 != 0) begin_turn();
      put_numbers(number, number + 3);
      while (const auto order = begun.size() % 3 == 2 ? std::optional<closure_order>{} : take(ended))
        begun.push_back(order->id);
      if (const auto order = take(ended)) begun.push_back(order->id);
      rest();
    }
    while (const auto order = take(ended)) begun.push_back(order->id);
    over = true;
  }};
  std::uint64_t asked = 0;
  while (!over) {
    const std::uint64_t last = sent;
    const auto told = give(last);
    for (const auto id : told.closures) BOOST_REQUIRE(given.insert(id).second);
    const auto recalled = told.busy ? last : std::min(last, told.taken);
    for (auto number = std::max(told.taken, asked) + 1; number <= recalled; ++number)
      BOOST_REQUIRE(given.insert(number).second);
    asked = std::max(asked, recalled);
  }
  worker.join();
  for (const auto id : begun) BOOST_REQUIRE(given.insert(id).second);
  BOOST_TEST(given.size() == count);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
