#include <troupe/actors/closures/internal/in_flight_table.hpp>

#include <boost/test/unit_test.hpp>

#include <random>
#include <unordered_map>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(in_flight_table_suite)

namespace {

std::shared_ptr<closure> new_closure() {
  return std::make_shared<closure>(function_id{}, value{}, std::vector<closure_input>{}, schedule_options{});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_table_of_closures_in_flight)

BOOST_AUTO_TEST_CASE(finds_what_was_added_until_it_is_removed) {
  in_flight_table table;
  const auto first = new_closure();
  const auto second = new_closure();
  const auto first_id = table.add(first, 3);
  const auto second_id = table.add(second, 4);
  BOOST_TEST(first_id != second_id);
  BOOST_TEST(table.count() == 2u);
  BOOST_REQUIRE(table.find(first_id) != nullptr);
  BOOST_TEST(table.find(first_id)->what == first);
  BOOST_TEST(table.find(first_id)->worker == 3);
  BOOST_TEST(table.remove(first_id) == first);
  BOOST_TEST(table.find(first_id) == nullptr);
  BOOST_TEST(table.find(second_id)->what == second);
  BOOST_TEST(table.count() == 1u);
}

BOOST_AUTO_TEST_CASE(finds_nothing_by_the_id_of_an_earlier_use_of_the_same_slot) {
  in_flight_table table;
  const auto late = table.add(new_closure(), 0);
  table.remove(late);
  const auto current = table.add(new_closure(), 0);
  BOOST_TEST((late & 0xffffffffu) == (current & 0xffffffffu), "the slot is used again");
  BOOST_TEST(table.find(late) == nullptr);
  BOOST_TEST(table.find(current) != nullptr);
}

BOOST_AUTO_TEST_CASE(finds_nothing_by_an_id_that_it_never_gave) {
  in_flight_table table;
  BOOST_TEST(table.find(0) == nullptr);
  const auto id = table.add(new_closure(), 0);
  BOOST_TEST(id != 0u);
  for (const auto wrong : {closure_id{0}, id + 1, id + (closure_id{1} << 32), ~closure_id{0}})
    BOOST_TEST(table.find(wrong) == nullptr);
}

BOOST_AUTO_TEST_CASE(has_what_a_lost_worker_held_adrift_in_order_until_it_is_removed) {
  in_flight_table table;
  std::vector<closure_id> lost;
  for (int i = 0; i < 3; ++i) {
    lost.push_back(table.add(new_closure(), 4));
    table.add(new_closure(), 5);
  }
  BOOST_TEST(table.set_adrift(4) == lost);
  BOOST_TEST(table.set_adrift(4).empty());
  BOOST_TEST(table.held_by(4).empty());
  BOOST_TEST(table.held_by(5).size() == 3u);
  // The worker is there again, and lost again.
  const auto again = table.add(new_closure(), 4);
  BOOST_TEST(table.set_adrift(4) == std::vector{again});
  lost.push_back(again);
  BOOST_TEST(table.held_by(in_flight_table::adrift) == lost);
  BOOST_TEST(table.count() == 7u);
  for (const auto id : lost) {
    BOOST_REQUIRE(table.find(id) != nullptr);
    BOOST_TEST(table.find(id)->worker == in_flight_table::adrift);
    table.remove(id);
  }
  BOOST_TEST(table.held_by(in_flight_table::adrift).empty());
  BOOST_TEST(table.count() == 3u);
}

BOOST_AUTO_TEST_CASE(keeps_no_closure_that_was_removed) {
  in_flight_table table;
  const auto what = new_closure();
  table.remove(table.add(what, 0));
  BOOST_TEST(what.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(lists_what_one_worker_holds) {
  in_flight_table table;
  std::vector<closure_id> of_one;
  for (auto i = 0; i < 10; ++i) {
    const auto id = table.add(new_closure(), i % 2);
    if (i % 2 == 1) of_one.push_back(id);
  }
  table.remove(of_one[2]);
  of_one.erase(of_one.begin() + 2);
  BOOST_TEST(table.held_by(1) == of_one, boost::test_tools::per_element());
  BOOST_TEST(table.held_by(7).empty());
}

BOOST_AUTO_TEST_CASE(agrees_with_a_map_after_any_sequence_of_changes) {
  in_flight_table table;
  std::unordered_map<closure_id, std::shared_ptr<closure>> expected;
  std::vector<closure_id> given;
  std::mt19937_64 random{5};
  for (auto step = 0; step < 20'000; ++step) {
    if (expected.empty() || random() % 2 == 0) {
      auto what = new_closure();
      const auto id = table.add(what, 0);
      BOOST_REQUIRE(expected.emplace(id, std::move(what)).second);
      given.push_back(id);
    } else {
      const auto id = given[random() % given.size()];
      const auto found = expected.find(id);
      BOOST_REQUIRE((table.find(id) != nullptr) == (found != expected.end()));
      if (found == expected.end()) continue;
      BOOST_REQUIRE(table.remove(id) == found->second);
      expected.erase(found);
    }
  }
  BOOST_TEST(table.count() == expected.size());
  BOOST_TEST(table.held_by(0).size() == expected.size());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
