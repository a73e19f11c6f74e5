// When threads look out for the next message: actors/fibers/internal/lookout.hpp. How they do: keep_awake.cpp.
#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/internal/lookout.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(lookout_suite)

namespace {

struct looking_state {
  explicit looking_state(caf::event_based_actor* self) : clock(self), looks(self, clock) {}
  timers clock;
  lookout looks;
};

struct called_actor : virtual_system {
  simulated_actor<looking_state> actor{*this};

  /// A call comes, after a time, and is over at once.
  bool expects_more_after_call(duration pause) {
    advance(pause);
    actor.act([this] { actor->looks.work_came(); });
    actor.act([this] { actor->looks.idle(); });
    return actor->looks.expects_more();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_first_call_says_nothing_about_the_next, called_actor) {
  BOOST_TEST(!expects_more_after_call(0s));
}

BOOST_FIXTURE_TEST_CASE(calls_in_close_succession_are_expected_and_rare_ones_not, called_actor) {
  expects_more_after_call(0s);
  BOOST_TEST(expects_more_after_call(lookout::limit - 1ns));
  BOOST_TEST(expects_more_after_call(0s));
  BOOST_TEST(!expects_more_after_call(lookout::limit));
  BOOST_TEST(!expects_more_after_call(1h));
  BOOST_TEST(expects_more_after_call(1us));
}

BOOST_FIXTURE_TEST_CASE(a_long_call_is_no_pause, called_actor) {
  expects_more_after_call(0s);
  actor.act([this] { actor->looks.work_came(); });
  advance(1h);
  actor.act([this] { actor->looks.work_came(); });  // another one meanwhile
  actor.act([this] { actor->looks.idle(); });
  BOOST_TEST(actor->looks.expects_more());
}

BOOST_AUTO_TEST_SUITE_END()
