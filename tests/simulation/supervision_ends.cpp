// How supervisors of the application's actors and their children end, on members of a simulated cluster.
#include "supervised_children.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(supervision_ends_suite)

using supervision_test::home;
using supervision_test::nursery;

BOOST_AUTO_TEST_CASE(a_supervisor_that_is_told_to_end_ends_its_children_one_after_the_other) {
  nursery at{16};
  at.slow = {{"b", 500ms}};
  const auto supervisor = at.here().supervise({}, at.children({"a", "b", "c"}));
  at.cluster.advance(1s);
  at.clear();
  caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  at.cluster.advance(1ms);
  BOOST_TEST(!has_ended(supervisor));
  at.hears({"0 ms: c ends", "0 ms: b is asked to end", "500 ms: b ends", "500 ms: a ends"}, 1s);
  BOOST_TEST(has_ended(supervisor));
}

BOOST_AUTO_TEST_CASE(one_that_does_not_end_is_killed_after_the_limit) {
  nursery at{17};
  at.slow = {{"c", -1s}};
  const auto supervisor = at.here().supervise({.end_limit = 2s}, at.children({"a", "b", "c", "d"}));
  at.cluster.advance(1s);
  at.clear();
  caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  at.cluster.advance(1s);
  // What happens to those whose turn comes later gives it no more time.
  at.fail("a");
  at.hears({"0 ms: d ends", "0 ms: c is asked to end", "1000 ms: a ends", "2000 ms: c ends", "2000 ms: b ends"}, 3s);
  BOOST_TEST(has_ended(supervisor));
}

BOOST_AUTO_TEST_CASE(each_that_ends_has_the_limit_to_itself) {
  nursery at{27};
  at.slow = {{"a", 1500ms}, {"b", 1500ms}};
  const auto supervisor = at.here().supervise({.end_limit = 2s}, at.children({"a", "b"}));
  at.cluster.advance(1s);
  at.clear();
  caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  at.hears({"0 ms: b is asked to end", "1500 ms: b ends", "1500 ms: a is asked to end", "3000 ms: a ends"}, 10s);
}

BOOST_AUTO_TEST_CASE(nothing_is_restarted_once_the_end_has_begun) {
  for (const auto when : {"before the failure", "in the pause"}) {
    nursery at{18};
    // At the first failure the others would end, out of their turn.
    const auto restarts_max = when == std::string{"before the failure"} ? 0 : 1;
    at.here().supervise(at.told({.restarts_max = restarts_max}), at.children({"a", "b"}));
    at.cluster.advance(1s);
    at.clear();
    const auto ends = [&] { at.here().context()->begin_end(); };
    if (when == std::string{"before the failure"}) ends();
    at.fail("a");
    at.cluster.advance(50ms);
    if (when == std::string{"in the pause"}) ends();
    at.hears({"0 ms: a ends"}, 10s);
    at.fail("b");
    for (const auto& each : at.here().context()->take_actors())
      caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
    at.hears({"0 ms: b ends"}, 10s);
    BOOST_TEST(at.times_given_up == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_is_told_to_end_while_it_restarts_all_or_gives_up_does_no_more_than_end) {
  for (const auto restarts_max : {0, 5}) {
    nursery at{19};
    at.slow = {{"a", 300ms}, {"c", 500ms}};
    const auto supervisor = at.here().supervise(
        at.told({.policy = restart_policy::one_for_all, .restarts_max = restarts_max}), at.children({"a", "b", "c"}));
    at.cluster.advance(1s);
    at.clear();
    at.fail("b");
    at.cluster.advance(200ms);
    caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
    at.cluster.advance(10s);
    BOOST_TEST(at.times_given_up == 0);
    BOOST_TEST(has_ended(supervisor));
    std::erase_if(at.heard, [](const auto& line) { return line.ends_with("asked to end"); });
    // The one that is asked a second time takes its time again.
    BOOST_TEST(at.heard.size() == 3u);
    BOOST_TEST(at.heard.back().ends_with("a ends"));
  }
}

BOOST_AUTO_TEST_CASE(a_restart_that_is_due_while_others_end_does_not_happen) {
  for (const auto gives_up : {false, true}) {
    nursery at{25};
    at.slow = {{"b", 500ms}};
    const auto supervisor = at.here().supervise(at.told({.restarts_max = 1}), at.children({"a", "b", "c"}));
    at.cluster.advance(1s);
    at.clear();
    at.fail("a");
    at.cluster.advance(50ms);
    if (gives_up)
      at.fail("c");
    else
      caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
    at.hears({"0 ms: a ends", "50 ms: c ends", "50 ms: b is asked to end", "550 ms: b ends"}, 1s);
    BOOST_TEST(at.times_given_up == (gives_up ? 1 : 0));
    BOOST_TEST(has_ended(supervisor));
  }
}

BOOST_AUTO_TEST_CASE(children_of_a_supervisor_that_was_killed_end) {
  nursery at{20};
  const auto supervisor = at.here().supervise({}, at.children({"a", "b"}));
  at.cluster.advance(1s);
  at.clear();
  caf::anon_send_exit(supervisor, caf::exit_reason::kill);
  at.cluster.advance(1s);
  BOOST_TEST(at.heard.size() == 2u);
  BOOST_TEST(at.here().context()->book->names().empty());
}

BOOST_AUTO_TEST_CASE(after_the_members_end_a_supervisor_ends_at_once) {
  nursery at{21};
  at.here().context()->take_actors();
  const auto supervisor = at.here().supervise({}, at.children({"a"}));
  at.hears({}, 1s);
  BOOST_TEST(has_ended(supervisor));
}

BOOST_AUTO_TEST_CASE(a_member_that_is_killed_and_restarted_begins_anew) {
  nursery at{22};
  at.here().supervise({}, at.children({"a", "b"}));
  at.cluster.advance(1s);
  at.clear();
  at.cluster.kill(home);
  BOOST_TEST(at.heard.size() == 2u);
  at.cluster.restart(home);
  at.cluster.run_until_ready();
  at.clear();
  at.here().supervise({}, at.children({"a", "b"}));
  at.hears({"0 ms: a begins", "0 ms: b begins"}, 1s);
}

BOOST_AUTO_TEST_SUITE_END()
