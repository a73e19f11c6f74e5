#include "support/refusal.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/offers/member.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(member_suite)

// Nobody would end it any more, and CAF keeps an actor that others know: the process would stay.
BOOST_FIXTURE_TEST_CASE(what_is_spawned_after_the_members_end_ends_at_once, virtual_system) {
  const auto context = std::make_shared<member_context>(system(), task_id{"worker", 0});
  const member here{context};
  const auto idle = [](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; };
  const auto before = here.spawn(idle);
  run();
  BOOST_TEST(!has_ended(before));
  const auto ending = context->take_actors();
  BOOST_TEST(ending.size() == 1u);
  const auto after = here.spawn(idle);
  run();
  BOOST_TEST(has_ended(after));
  for (const auto& each : ending) caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
  run();
}

struct unknown_message {
  int number = 0;
};
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, unknown_message& x) {
  return f(x.number);
}

BOOST_FIXTURE_TEST_CASE(messages_of_a_type_that_nobody_has_registered_are_refused_where_the_actor_is_offered,
                        virtual_system) {
  using asked_actor = caf::typed_actor<caf::replies_to<int>::with<unknown_message>>;
  const member here{std::make_shared<member_context>(system(), task_id{"worker", 0})};
  const auto actor = here.spawn(
      [](asked_actor::pointer) -> asked_actor::behavior_type { return {[](int) { return unknown_message{}; }}; });
  const auto text = message_of<invalid_argument_error>([&] { here.offer("asked", actor); });
  BOOST_TEST(contains(text, "unknown_message"));
  BOOST_TEST(contains(text, "TROUPE_MESSAGE"));
  BOOST_CHECK_THROW(here.follow<asked_actor>({"worker", 1}, "asked"), invalid_argument_error);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  run();
}

BOOST_FIXTURE_TEST_CASE(an_actor_without_a_supervisor_that_ends_by_an_error_is_reported_with_its_name, virtual_system) {
  const auto context = std::make_shared<member_context>(system(), task_id{"worker", 0});
  std::vector<std::string> reports;
  context->report = [&](const std::string& line) { reports.push_back(line); };
  const member here{context};
  const auto spawned = [&] {
    return here.spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](int row) { throw out_of_range_error{fmt::format("row {}", row)}; }};
    });
  };
  const auto sensor = spawned();
  here.offer("sensor", sensor);
  const auto quiet = spawned();
  caf::anon_send(sensor, 7);
  caf::anon_send_exit(quiet, caf::exit_reason::user_shutdown);
  run();
  BOOST_REQUIRE(reports.size() == 1u);
  for (const auto* part : {"\"sensor\" of /job:worker/task:0 has ended by an error", "out_of_range", "row 7"})
    BOOST_TEST(contains(reports.front(), part), reports.front());
  const auto late = spawned();
  context->begin_end();
  caf::anon_send(late, 8);
  run();
  BOOST_TEST(reports.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_member_that_somebody_has_kept_says_that_its_cluster_is_gone, virtual_system) {
  const auto context = std::make_shared<member_context>(system(), task_id{"worker", 0});
  const member kept{context};
  context->take_actors();
  BOOST_CHECK_THROW(kept.at_stop([] {}), failed_precondition_error);
  context->leave_system();
  const auto idle = [](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; };
  BOOST_CHECK_THROW(kept.spawn(idle), failed_precondition_error);
  BOOST_CHECK_THROW(kept.follow<caf::actor>({"chief", 0}, "any"), failed_precondition_error);
}

BOOST_AUTO_TEST_SUITE_END()
