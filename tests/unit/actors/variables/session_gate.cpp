// Which sessions a server lets in, whatever order the news come in (C-3).
#include <troupe/actors/variables/session_gate.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(session_gate_suite)

BOOST_AUTO_TEST_SUITE(a_gate)

BOOST_AUTO_TEST_CASE(admits_everybody_before_it_was_told_anything) {
  const session_gate gate;
  for (const auto session : {session_id{0}, session_id{1}, ~session_id{0}}) BOOST_TEST(gate.admits(session));
}

BOOST_AUTO_TEST_CASE(admits_those_that_go_on_and_those_that_are_still_to_come) {
  session_gate gate;
  gate.take({.horizon = 10, .live = {8, 3}});
  for (const auto session : {0, 3, 8, 10, 11}) BOOST_TEST(gate.admits(static_cast<session_id>(session)), session);
  for (const auto session : {1, 2, 4, 7, 9}) BOOST_TEST(!gate.admits(static_cast<session_id>(session)), session);
}

BOOST_AUTO_TEST_CASE(never_admits_again_what_it_refused_once_though_older_news_come_later) {
  session_gate gate;
  gate.take({.horizon = 12, .live = {3, 11}});
  gate.take({.horizon = 10, .live = {3, 8}});
  for (const auto session : {3, 11, 12}) BOOST_TEST(gate.admits(static_cast<session_id>(session)), session);
  for (const auto session : {8, 9, 10}) BOOST_TEST(!gate.admits(static_cast<session_id>(session)), session);
  gate.take({.horizon = 12, .live = {11}});
  BOOST_TEST(!gate.admits(3));
}

BOOST_AUTO_TEST_CASE(tells_that_there_are_news) {
  session_gate gate;
  const auto before = gate.news();
  gate.take({.horizon = 2, .live = {}});
  BOOST_TEST(gate.news() != before);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
