#include "support/simulated_world.hpp"

#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/offers/member.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(member_suite)

// Nobody would end it any more, and CAF keeps an actor that others know: the process would stay.
BOOST_FIXTURE_TEST_CASE(what_is_spawned_after_the_members_end_ends_at_once, simulated_world) {
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

BOOST_AUTO_TEST_SUITE_END()
