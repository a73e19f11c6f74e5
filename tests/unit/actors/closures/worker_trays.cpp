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

using numbers = std::vector<std::uint64_t>;

struct desk : worker_trays {
  desk() { begin(session, {}); }

  std::vector<closure_outcome> ended;

  /// A message with orders whose ids are their numbers, at once.
  void put_numbers(std::uint64_t first, std::uint64_t last) {
    if (announce(first, last, nullptr)) put(first, orders_of(first, last));
  }
  static std::vector<closure_order> orders_of(std::uint64_t first, std::uint64_t last) {
    std::vector<closure_order> orders;
    for (auto number = first; number <= last; ++number) orders.push_back({.id = number, .number = number});
    return orders;
  }
  /// Ends the worker's turn.
  std::vector<closure_outcome> rest() { return take_outcomes(ended, true).outcomes; }
  bool has_orders() const { return !orders().empty(); }
  recalled_orders give(numbers wanted, bool cancelled = false) {
    return give_back(session, {.serial = ++serial, .numbers = std::move(wanted), .cancelled = cancelled}).value();
  }
  void check_given(numbers wanted, const numbers& given, const numbers& kept, bool cancelled = false) {
    const auto told = give(std::move(wanted), cancelled);
    BOOST_TEST(told.given == given, boost::test_tools::per_element());
    BOOST_TEST(told.kept == kept, boost::test_tools::per_element());
  }
  void check_orders(const std::vector<closure_id>& expected) const {
    BOOST_TEST(orders() == expected, boost::test_tools::per_element());
  }

  std::uint64_t serial = 0;
};

std::shared_ptr<wire_arrival> coming() {
  auto arrival = std::make_shared<wire_arrival>();
  arrival->waits = true;
  return arrival;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_trays, desk)

// WT-1
BOOST_AUTO_TEST_CASE(give_back_what_was_not_taken_and_nothing_else) {
  put_numbers(1, 4);
  BOOST_TEST(take(ended)->id == 1u);
  check_given({1, 2, 3}, {2, 3}, {});
  BOOST_TEST(take(ended)->id == 4u);
  BOOST_TEST(!take(ended));
  BOOST_TEST(take_outcomes(ended, false).recall == 1u);
}

BOOST_AUTO_TEST_CASE(leave_out_what_comes_after_it_was_given_back) {
  begin_turn();
  put_numbers(1, 1);
  check_given({2, 3, 5, 6, 7}, {2, 3, 5, 6, 7}, {});
  put_numbers(2, 3);  // none of them is wanted here
  put_numbers(4, 6);
  check_orders({1, 4});
  BOOST_TEST(!announce(7, 7, coming()));
  check_given({4}, {4}, {});
}

// WT-4
BOOST_AUTO_TEST_CASE(take_no_message_that_begins_with_a_number_that_was_announced) {
  BOOST_TEST(announce(1, 3, coming()));
  BOOST_TEST(!announce(1, 3, coming()));
  BOOST_TEST(!announce(2, 5, coming()));
  BOOST_TEST(!announce(9, 8, coming()));
  put(1, orders_of(1, 3));
  put_numbers(3, 3);
  check_orders({1, 2, 3});
  check_given({1, 2, 3}, {1, 2, 3}, {});
  put_numbers(1, 3);
  check_orders({});
  begin(session + 1, {});
  put_numbers(1, 1);
  check_orders({1});
}

BOOST_AUTO_TEST_CASE(keep_what_a_worker_that_hears_has_not_heard_of) {
  put_numbers(1, 1);
  check_given({1, 2, 3}, {1}, {2, 3});
  put_numbers(2, 4);
  check_orders({2, 3, 4});
}

BOOST_AUTO_TEST_CASE(keep_data_that_is_coming_and_give_back_what_has_come) {
  begin_turn();
  const auto late = coming();
  BOOST_TEST(announce(1, 2, coming()));
  BOOST_TEST(announce(3, 5, late));
  check_given({1, 2, 3, 4}, {}, {1, 2, 3, 4});
  late->waits = false;
  check_given({1, 3, 4}, {3, 4}, {1});
  put(1, orders_of(1, 2));
  put(3, orders_of(3, 5));
  check_orders({1, 2, 5});
}

BOOST_AUTO_TEST_CASE(give_back_what_was_cancelled_though_its_data_is_coming_unless_the_worker_hears) {
  BOOST_TEST(announce(1, 2, coming()));
  check_given({1}, {}, {1}, true);
  begin_turn();
  check_given({1}, {1}, {}, true);
  BOOST_TEST(!lose(1, 2));  // 2 would have been wanted
  BOOST_TEST(announce(3, 3, coming()));
  check_given({3}, {3}, {}, true);
  BOOST_TEST(lose(3, 3));
}

// M-2
BOOST_AUTO_TEST_CASE(give_nothing_back_in_another_session) {
  put_numbers(1, 2);
  begin_turn();
  give({3});
  BOOST_TEST(!give_back(session - 1, {.serial = 1, .numbers = {1}}).has_value());
  BOOST_TEST(orders().size() == 2u);
  end();
  BOOST_TEST(!give_back(session, {.serial = 1, .numbers = {1}}).has_value());
  BOOST_TEST(!has_orders());
  begin(session + 1, {});
  put_numbers(1, 3);
  BOOST_TEST(orders().size() == 3u);
}

BOOST_AUTO_TEST_CASE(forget_what_is_removed) {
  put_numbers(1, 3);
  BOOST_TEST(remove(2));
  BOOST_TEST(!remove(2));
  check_orders({1, 3});
}

// WT-2
BOOST_AUTO_TEST_CASE(leave_outcomes_to_the_worker_unless_it_is_in_a_turn) {
  ended.push_back({.id = 1});
  BOOST_TEST(!take(ended));
  BOOST_TEST(ended.empty());
  BOOST_TEST(take_outcomes_of_busy().outcomes.empty());
  begin_turn();
  BOOST_TEST(give({}).busy);
  BOOST_TEST(take_outcomes_of_busy().outcomes.size() == 1u);
  ended.push_back({.id = 2});
  BOOST_TEST(!take(ended));
  ended.push_back({.id = 3});
  BOOST_TEST(rest().size() == 2u);
  BOOST_TEST(!give({}).busy);
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
  // As a coordinator does: it asks again for what was kept, and never for what was given.
  std::uint64_t asked = 0;
  numbers wanted;
  while (!over) {
    for (const std::uint64_t last = sent; asked < last;) wanted.push_back(++asked);
    const auto told = give(wanted);
    for (const auto number : told.given) BOOST_REQUIRE(given.insert(number).second);
    wanted = told.kept;
  }
  worker.join();
  for (const auto id : begun) BOOST_REQUIRE(given.insert(id).second);
  BOOST_TEST(given.size() == count);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
