// Lists that a log line bears, however long they are.
#include <troupe/actors/messages/first_few.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(first_few_suite)

BOOST_AUTO_TEST_CASE(short_lists_are_whole_and_long_ones_state_how_many_are_left) {
  const std::vector<std::string> entries{"a", "b", "c", "d", "e", "f", "g"};
  const auto first = [&](std::ptrdiff_t count) { return first_few({entries.begin(), entries.begin() + count}, ", "); };
  BOOST_TEST(first(0) == "");
  BOOST_TEST(first(1) == "a");
  BOOST_TEST(first(5) == "a, b, c, d, e");
  BOOST_TEST(first(6) == "a, b, c, d, e, and 1 more");
  BOOST_TEST(first_few(entries, "; ") == "a; b; c; d; e; and 2 more");
}

BOOST_AUTO_TEST_CASE(a_list_of_1000_absent_members_is_a_short_line) {
  BOOST_TEST(first_few(std::vector<std::string>(1000, std::string(200, 'x')), "; ").size() < 1100u);
}

BOOST_AUTO_TEST_SUITE_END()
