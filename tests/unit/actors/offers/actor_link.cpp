#include "support/virtual_system.hpp"

#include <troupe/actors/offers/actor_link.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(actor_link_suite)

namespace {

/// One link, which is up, and an actor that makes requests over it that nobody answers.
struct world : virtual_system {
  world() {
    link->rise(asker, keeper);
    before = clock().schedule().size();
  }
  ~world() { link->fall({}, true); }

  /// Open until it is late.
  actor_link::place open(duration limit) {
    return link->open(asker, caf::make_message_id(++requests).response_id(), later(now(), limit)).place;
  }
  std::size_t alarms() { return clock().schedule().size() - before; }

  const caf::strong_actor_ptr asker = caf::actor_cast<caf::strong_actor_ptr>(
      spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; }));
  const caf::strong_actor_ptr keeper =
      caf::actor_cast<caf::strong_actor_ptr>(spawn([this](caf::event_based_actor*) -> caf::behavior {
        return {[this](caf::tick_atom, const std::shared_ptr<actor_link>&) {
          ++ticks;
          link->end_late_requests();
        }};
      }));
  const std::shared_ptr<actor_link> link =
      std::make_shared<actor_link>(task_id{"worker", 0}, "probe", actor_interface{});
  std::size_t before = 0;
  std::size_t ticks = 0;
  std::uint64_t requests = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_link, world)

// CAF's clock forgets no alarm before its time, so each one more than needed would stay there, for an hour perhaps.
BOOST_AUTO_TEST_CASE(holds_few_alarms_whatever_limits_its_requests_have) {
  open(1h);
  for (int i = 0; i < 1'000; ++i) {
    const auto answered = open(1s);
    const auto late = open(20ms);
    link->close(answered);
    advance(5ms);
    // The late one stays open: nobody takes its answer here.
    static_cast<void>(late);
    BOOST_TEST_REQUIRE(alarms() <= 3u);
  }
  BOOST_TEST(ticks <= 1'000u);
  advance(2s);
  BOOST_TEST(alarms() == 1u);
  advance(1h);
  BOOST_TEST(alarms() == 0u);
}

BOOST_AUTO_TEST_CASE(ends_late_requests_also_when_an_alarm_came_while_it_was_down_for_good) {
  open(1s);
  link->fall({status_code::failed_precondition, "it is another one now"}, true);
  advance(2s);
  link->rise(asker, keeper);
  ticks = 0;
  open(1s);
  advance(1s);
  BOOST_TEST(ticks == 1u);
}

BOOST_AUTO_TEST_CASE(falls_by_an_error_that_says_nobody_is_there_only_if_its_own_actor_has_ended) {
  const auto other = open(1h);
  const auto nobody_is_there = caf::make_error(caf::sec::request_receiver_down);
  // Somebody whom the actor has asked.
  link->close(open(1h), nobody_is_there);
  BOOST_TEST((link->now() == actor_link::state::up));
  caf::anon_send_exit(asker, caf::exit_reason::kill);
  run();
  link->close(other, nobody_is_there);
  BOOST_TEST((link->now() == actor_link::state::down));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
