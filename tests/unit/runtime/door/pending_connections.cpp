// Which pending connection gives way.
#include <troupe/runtime/door/pending_connections.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>
#include <string>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(pending_connections_suite)

namespace {

constexpr std::uint64_t seed = 20240607;

std::string source(std::uint64_t number) { return "source " + std::to_string(number); }

}  // namespace

// PC-1
BOOST_AUTO_TEST_CASE(nobody_gives_way_while_there_is_a_place) {
  pending_connections pending{8, seed};
  BOOST_TEST(!pending.any());
  for (std::uint64_t i = 0; i < 8; ++i) {
    BOOST_TEST(!pending.in_the_way_of(source(i)));
    pending.add(i, source(i));
  }
  BOOST_TEST(pending.in_the_way_of(source(8)).has_value());
  pending.remove(3, source(3));
  BOOST_TEST(!pending.in_the_way_of(source(8)));
  BOOST_TEST(pending.size() == 7u);
}

BOOST_AUTO_TEST_CASE(each_is_as_likely_to_give_way_as_every_other_one) {
  constexpr auto draws = 8000;
  pending_connections pending{8, seed};
  for (std::uint64_t i = 0; i < 8; ++i) pending.add(i, source(i));
  std::map<std::uint64_t, int> drawn;
  for (auto i = 0; i < draws; ++i) ++drawn[*pending.in_the_way_of(source(9))];
  BOOST_TEST(drawn.size() == 8u);
  for (const auto& [number, count] : drawn) {
    BOOST_TEST(count > draws / 8 * 3 / 4, number);
    BOOST_TEST(count < draws / 8 * 5 / 4, number);
  }
}

// PC-2
BOOST_AUTO_TEST_CASE(who_has_half_of_the_places_gives_way_to_itself) {
  pending_connections pending{8, seed};
  for (std::uint64_t i = 0; i < 4; ++i) {
    BOOST_TEST(!pending.in_the_way_of("greedy"));
    pending.add(i, "greedy");
  }
  pending.add(100, "modest");
  for (auto i = 0; i < 100; ++i) BOOST_TEST(pending.in_the_way_of("greedy").value_or(100) < 4u);
  BOOST_TEST(!pending.in_the_way_of("modest"));
  pending.remove(0, "greedy");
  BOOST_TEST(!pending.in_the_way_of("greedy"));
}

BOOST_AUTO_TEST_CASE(those_that_are_left_after_any_removals_can_be_drawn) {
  pending_connections pending{100, seed};
  for (std::uint64_t i = 0; i < 50; ++i) pending.add(i, source(i % 5));
  for (std::uint64_t i = 0; i < 50; i += 2) pending.remove(i, source(i % 5));
  std::set<std::uint64_t> drawn;
  for (auto i = 0; i < 5000; ++i) drawn.insert(*pending.any());
  BOOST_TEST(drawn.size() == 25u);
  for (const auto number : drawn) BOOST_TEST(number % 2 == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
