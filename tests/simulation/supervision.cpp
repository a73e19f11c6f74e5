// Supervisors of the application's actors on members of a simulated cluster: what is restarted, when, and what follows
// when that does not help.
#include "supervised_children.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(supervision_suite)

using supervision_test::child_actor;
using supervision_test::home;
using supervision_test::nursery;
using supervision_test::require_parts;

// --- restarts -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(children_begin_in_the_order_of_their_list_and_are_found_by_their_names) {
  nursery at{1};
  auto all = at.children({"a", "b"});
  all.push_back(at.child("c", child_name::not_offered));
  at.here().supervise({}, std::move(all));
  at.hears({"0 ms: a begins", "0 ms: b begins", "0 ms: c begins"}, 1s);
  const auto asking = at.cluster.start_program([&] {
    const auto from = at.cluster.here(chief);
    BOOST_TEST(ask(from.find<child_actor>(home, "a", 1s), 1s, fetch_atom_v) == "a");
    BOOST_TEST(ask(from.find<child_actor>(home, "b", 1s), 1s, fetch_atom_v) == "b");
    require_parts(problem_of([&] { from.find<child_actor>(home, "c", 1s); }), "deadline_exceeded", {"it offers a, b"});
  });
  BOOST_TEST_REQUIRE(at.cluster.run_until([&] { return asking.ended(); }, 1min));
  BOOST_TEST(asking.problem().ok(), asking.problem().render());
}

BOOST_AUTO_TEST_CASE(one_for_one_restarts_the_one_that_failed_and_references_follow) {
  nursery at{2};
  at.here().supervise({}, at.children({"a", "b", "c"}));
  std::vector<std::string> changes;
  const auto from = at.cluster.here(chief);
  at.cluster.spawn(chief, [&](caf::event_based_actor* self) -> caf::behavior {
    from.follow<child_actor>(home, "b").watch(
        self, [&](const child_actor&) { changes.emplace_back("up"); },
        [&](const status& why) { changes.push_back(to_string(why.code())); });
    return {[](int) {}};
  });
  at.cluster.advance(1s);
  at.clear();
  at.fail("b");
  at.hears({"0 ms: b ends", "100 ms: b begins"}, 1s);
  const std::vector<std::string> expected{"up", "unavailable", "up"};
  BOOST_TEST(changes == expected, boost::test_tools::per_element());
  const auto asking = at.cluster.start_program(
      [&] { BOOST_TEST(ask(from.find<child_actor>(home, "b", 1s), 1s, fetch_atom_v) == "b"); });
  BOOST_TEST_REQUIRE(at.cluster.run_until([&] { return asking.ended(); }, 1s));
  BOOST_TEST(asking.problem().ok(), asking.problem().render());
  // What happened is said where the member's log is.
  const auto is_said = [](const std::string& line) {
    return contains(line,
                    "\"b\" on /job:worker/task:0 failed; it is restarted in 100 ms, restart 1 of 5 within 60000 "
                    "ms: data_loss: b has read garbage");
  };
  const auto& trace = at.cluster.trace();
  BOOST_TEST((std::find_if(trace.begin(), trace.end(), is_said) != trace.end()));
}

BOOST_AUTO_TEST_CASE(one_for_all_ends_the_others_the_latest_first_and_starts_all_in_their_order) {
  nursery at{3};
  at.here().supervise({.policy = restart_policy::one_for_all}, at.children({"a", "b", "c", "d"}));
  at.cluster.advance(1s);
  // One that has done its work begins again with the others.
  caf::anon_send(caf::actor_cast<child_actor>(at.life_of("d")), cancel_atom_v);
  at.cluster.advance(1s);
  at.clear();
  at.fail("b");
  at.hears({"0 ms: b ends", "0 ms: c ends", "0 ms: a ends", "100 ms: a begins", "100 ms: b begins", "100 ms: c begins",
            "100 ms: d begins"},
           1s);
  // A start that fails is a failure of all: those before it end.
  at.failing_starts["b"] = 1;
  at.fail("d");
  at.hears({"0 ms: d ends", "0 ms: c ends", "0 ms: b ends", "0 ms: a ends", "200 ms: a begins", "200 ms: b begins",
            "200 ms: a ends", "600 ms: a begins", "600 ms: b begins", "600 ms: c begins", "600 ms: d begins"},
           1s);
}

BOOST_AUTO_TEST_CASE(others_are_waited_for_before_all_start_again) {
  nursery at{4};
  at.slow = {{"a", 30ms}, {"c", 250ms}};
  at.here().supervise({.policy = restart_policy::one_for_all}, at.children({"a", "b", "c"}));
  at.cluster.advance(1s);
  at.clear();
  at.fail("b");
  at.hears({"0 ms: b ends", "0 ms: c is asked to end", "250 ms: c ends", "250 ms: a is asked to end", "280 ms: a ends",
            "280 ms: a begins", "280 ms: b begins", "280 ms: c begins"},
           1s);
}

BOOST_AUTO_TEST_CASE(one_that_ends_without_an_error_stays_ended) {
  nursery at{5};
  const auto supervisor = at.here().supervise({}, at.children({"a", "b"}));
  at.cluster.advance(1s);
  at.clear();
  caf::anon_send(caf::actor_cast<child_actor>(at.life_of("a")), cancel_atom_v);
  caf::anon_send_exit(at.life_of("b"), caf::exit_reason::user_shutdown);
  at.cluster.advance(2min);
  BOOST_TEST(at.heard.size() == 2u);
  BOOST_TEST(at.here().context()->book->names().empty());
  BOOST_TEST(!has_ended(supervisor));
}

// --- pauses and limits ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(pauses_double_up_to_their_maximum_and_begin_anew_after_a_life_of_within) {
  nursery at{6};
  at.failing_starts["a"] = 5;
  at.here().supervise({.restarts_max = 100, .within = 10s, .first_pause = 100ms, .pause_max = 500ms},
                      at.children({"a"}));
  at.hears({"0 ms: a begins", "100 ms: a begins", "300 ms: a begins", "700 ms: a begins", "1200 ms: a begins",
            "1700 ms: a begins"},
           1700ms + 9999ms);
  at.fail("a");
  at.hears({"0 ms: a ends", "500 ms: a begins"}, 500ms + 10s);
  at.fail("a");
  at.hears({"0 ms: a ends", "100 ms: a begins"}, 101ms);
}

BOOST_AUTO_TEST_CASE(without_a_pause_it_is_restarted_at_once) {
  nursery at{7};
  at.failing_starts["a"] = 3;
  at.here().supervise({.first_pause = 0s, .pause_max = 0s}, at.children({"a"}));
  at.hears({"0 ms: a begins", "0 ms: a begins", "0 ms: a begins", "0 ms: a begins"}, 1s);
}

BOOST_AUTO_TEST_CASE(more_restarts_than_restarts_max_within_the_time_are_too_many) {
  nursery at{8};
  const auto supervisor =
      at.here().supervise(at.told({.restarts_max = 2, .within = 10s}), at.children({"a", "b", "c"}));
  at.cluster.advance(1s);
  at.clear();
  at.fail("a");
  at.hears({"0 ms: a ends", "100 ms: a begins"}, 1s);
  // Of all children together.
  at.fail("c");
  at.hears({"0 ms: c ends", "100 ms: c begins"}, 8999ms);
  BOOST_TEST(at.times_given_up == 0);
  at.fail("a");
  at.hears({"0 ms: a ends", "0 ms: c ends", "0 ms: b ends"}, 2min);
  BOOST_TEST(at.times_given_up == 1);
  require_parts(at.gave_up, "resource_exhausted",
                {"\"a\" on /job:worker/task:0 failed, and its supervisor gave up: after 2 restarts within 10000 ms",
                 "caused by data_loss: a has read garbage"});
  BOOST_TEST(has_ended(supervisor));
  // With the callback nothing else comes of it.
  BOOST_TEST(at.cluster.present(home));
  BOOST_TEST(at.here().context()->book->names().empty());
}

BOOST_AUTO_TEST_CASE(a_restart_counts_for_within_and_no_longer) {
  nursery at{9};
  at.here().supervise(at.told({.restarts_max = 1, .within = 10s}), at.children({"a"}));
  at.cluster.advance(1s);
  for (int i = 0; i < 3; ++i) {
    at.fail("a");
    at.cluster.advance(10s);
  }
  BOOST_TEST(at.times_given_up == 0);
  at.fail("a");
  at.cluster.advance(9999ms);
  BOOST_TEST(at.times_given_up == 0);
  at.fail("a");
  at.cluster.advance(1ms);
  BOOST_TEST(at.times_given_up == 1);
}

BOOST_AUTO_TEST_CASE(a_start_that_throws_is_a_failure_with_its_text) {
  nursery at{10};
  at.failing_starts["b"] = 3;
  at.here().supervise(at.told({.restarts_max = 2}), at.children({"a", "b"}));
  at.hears({"0 ms: a begins", "0 ms: b begins", "100 ms: b begins", "300 ms: b begins", "300 ms: a ends"}, 2min);
  require_parts(at.gave_up, "resource_exhausted", {"\"b\" on", "did not start", "not_found: no device for b"});
}

// --- giving up ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_supervisor_without_an_outer_one_has_its_member_fail) {
  nursery at{11};
  at.here().supervise({.restarts_max = 0}, at.children({"a", "b"}));
  at.cluster.advance(1s);
  at.clear();
  at.fail("a");
  at.hears({"0 ms: a ends", "0 ms: b ends"}, 1s);
  BOOST_TEST(!at.cluster.running(home));
  const auto end = at.cluster.end_of(home);
  BOOST_TEST_REQUIRE(end.has_value());
  BOOST_TEST((end->how == member_end::kind::gave_up));
  require_parts(end->why, "resource_exhausted", {"\"a\" on", "after 0 restarts", "a has read garbage"});
  BOOST_TEST(!at.cluster.present(home));
  at.cluster.restart(home);
  at.cluster.run_until_ready();
  at.here().supervise({}, at.children({"a"}));
  at.cluster.advance(1s);
  BOOST_TEST(at.here().context()->book->names().size() == 1u);
}

BOOST_AUTO_TEST_CASE(on_the_chief_the_chief_ends) {
  nursery at{12};
  at.cluster.here(chief).supervise({.restarts_max = 0}, at.children({"a"}));
  at.cluster.advance(1s);
  at.fail("a");
  at.cluster.advance(1s);
  BOOST_TEST(!at.cluster.running(chief));
  BOOST_TEST_REQUIRE(at.cluster.end_of(chief).has_value());
  BOOST_TEST((at.cluster.end_of(chief)->how == member_end::kind::gave_up));
}

BOOST_AUTO_TEST_CASE(an_outer_supervisor_restarts_an_inner_one_that_gave_up_and_may_give_up_itself) {
  nursery at{13};
  at.here().supervise(at.told({.restarts_max = 1, .first_pause = 1s}),
                      {{"inner",
                        [&](member& here) {
                          at.note("inner begins");
                          return here.supervise({.restarts_max = 1}, at.children({"a", "b"}));
                        },
                        child_name::not_offered},
                       at.child("c")});
  at.hears({"0 ms: inner begins", "0 ms: c begins", "0 ms: a begins", "0 ms: b begins"}, 1s);
  at.fail("a");
  at.hears({"0 ms: a ends", "100 ms: a begins"}, 1s);
  at.fail("b");
  at.hears({"0 ms: b ends", "0 ms: a ends", "1000 ms: inner begins", "1000 ms: a begins", "1000 ms: b begins"}, 2s);
  BOOST_TEST((at.here().context()->book->names() == std::vector<std::string>{"a", "b", "c"}));
  at.fail("b");
  at.cluster.advance(1s);
  at.clear();
  at.fail("b");
  at.hears({"0 ms: b ends", "0 ms: a ends", "0 ms: c ends"}, 2s);
  require_parts(at.gave_up, "resource_exhausted",
                {"\"inner\" on /job:worker/task:0 failed, and its supervisor gave up",
                 "\"b\" on /job:worker/task:0 failed, and its supervisor gave up", "b has read garbage"});
  BOOST_TEST(at.cluster.present(home));
}

// --- what belongs to a child ----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_a_child_spawns_belongs_to_it) {
  nursery at{14};
  std::optional<member> given;
  at.here().supervise({}, {{"a",
                            [&](member& here) {
                              given = here;
                              at.begins(here, "helper");
                              here.events();
                              return at.begins(here, "a");
                            }},
                           at.child("b")});
  at.cluster.advance(1s);
  // One more, later.
  at.begins(*given, "late");
  const auto events = caf::actor_cast<caf::actor_addr>(at.here().events());
  at.cluster.advance(1s);
  at.clear();
  at.fail("helper");
  at.hears({"0 ms: helper ends", "0 ms: late ends", "0 ms: a ends"}, 99ms);
  // The child's part is over.
  at.begins(*given, "too late");
  at.hears({"0 ms: too late ends"}, 0s);
  at.cluster.advance(1s);
  BOOST_TEST(at.lives["a"].size() == 2u);
  // What the member has of the chief's services is the member's.
  BOOST_TEST((at.here().events().address() == events));
  // One that is done is no failure.
  at.clear();
  caf::anon_send(caf::actor_cast<child_actor>(at.life_of("helper")), cancel_atom_v);
  at.hears({"0 ms: helper ends"}, 1s);
  // The child has done its work, and nothing is left of it.
  at.begins(*given, "late");
  at.cluster.advance(1ms);
  at.clear();
  caf::anon_send(caf::actor_cast<child_actor>(at.life_of("a")), cancel_atom_v);
  at.hears({"0 ms: a ends", "0 ms: late ends"}, 1s);
  BOOST_TEST(at.lives["a"].size() == 2u);
  given.reset();
}

BOOST_AUTO_TEST_CASE(an_actor_that_a_child_spawned_otherwise_is_watched_and_ends_with_it) {
  nursery at{26};
  const auto supervisor = at.here().supervise({}, {{"a", [&](member& here) {
                                                      at.note("a begins");
                                                      auto made = here.system().spawn(nursery::body, &at, "a");
                                                      at.lives["a"].push_back(made.address());
                                                      return made;
                                                    }}});
  at.cluster.advance(1s);
  at.clear();
  at.fail("a");
  at.hears({"0 ms: a ends", "100 ms: a begins"}, 1s);
  caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  at.hears({"0 ms: a ends"}, 1s);
}

BOOST_AUTO_TEST_CASE(a_name_that_somebody_else_takes_meanwhile_is_a_failed_start_until_it_is_free) {
  nursery at{15};
  at.here().supervise({.restarts_max = 10}, at.children({"a", "b"}));
  at.cluster.advance(1s);
  at.here().withdraw("a");
  const auto other = at.begins(at.here(), "other");
  at.here().offer("a", other);
  at.clear();
  at.fail("a");
  at.hears({"0 ms: a ends", "100 ms: a begins", "100 ms: a ends", "300 ms: a begins", "300 ms: a ends"}, 699ms);
  caf::anon_send_exit(other, caf::exit_reason::user_shutdown);
  at.hears({"0 ms: other ends", "1 ms: a begins"}, 1s);
}

// --- input ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_what_is_wrong_and_what_helps) {
  nursery at{23};
  const auto refuses = [&](supervision_options options, std::vector<supervised_child> children, const std::string& code,
                           const std::vector<std::string>& parts) {
    require_parts(problem_of([&] { at.here().supervise(std::move(options), std::move(children)); }), code, parts);
  };
  const auto one = [&] { return at.children({"a"}); };
  refuses({}, {}, "invalid_argument", {"no children", "one or more"});
  refuses({}, at.children({"a", "b", "a"}), "invalid_argument", {"two children", "\"a\"", "a name of its own"});
  refuses({}, at.children({""}), "invalid_argument", {"no name", "child_name::not_offered"});
  refuses({.restarts_max = -1}, one(), "invalid_argument", {"restarts_max is -1", "must be 0"});
  refuses({.within = 0s}, one(), "invalid_argument", {"within is 0 ms", "more than 0"});
  refuses({.first_pause = -1ms}, one(), "invalid_argument", {"first_pause is -1 ms"});
  refuses({.pause_max = 10ms}, one(), "invalid_argument", {"pause_max is 10 ms", "below first_pause, 100 ms"});
  refuses({.end_limit = 0s}, one(), "invalid_argument", {"end_limit is 0 ms"});
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= supervision_options::children_max; ++i) names.push_back(std::to_string(i));
  refuses({}, at.children(names), "invalid_argument", {"4097 children", "4096 (children_max)"});
  at.here().offer("a", at.begins(at.here(), "somebody else"));
  refuses({}, one(), "already_exists", {"offers \"a\" already", "withdraw it first, or take another name"});
  at.cluster.advance(1s);
  BOOST_TEST(at.heard.empty());
}

BOOST_AUTO_TEST_CASE(a_function_that_returns_no_actor_is_a_failed_start) {
  nursery at{24};
  at.here().supervise(at.told({.restarts_max = 0}), {{"a", [](member&) { return child_actor{}; }}});
  at.cluster.advance(1s);
  require_parts(at.gave_up, "resource_exhausted", {"\"a\" on", "returned no actor"});
}

BOOST_AUTO_TEST_SUITE_END()
