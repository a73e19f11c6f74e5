// What the coordinator makes of outcomes whose results arrive late.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_suite)

namespace {

/// One worker, which is there.
struct small_office : office {
  small_office() { up(); }
};

const status given_up{status_code::unavailable, "the worker gave its session up"};

}  // namespace

// C-3
BOOST_FIXTURE_TEST_CASE(a_closure_that_has_ended_is_not_run_again_because_its_result_is_under_way, small_office) {
  const auto first = schedule();
  const auto second = schedule();
  BOOST_REQUIRE(heard().orders.size() == 2u);
  outcome(session(), heard().orders[0].second, large_tensor(4.0f));
  send(session(), {.outcomes = {}, .session_ended = given_up});
  BOOST_TEST(heard().sessions.size() == 1u);
  transport->complete(0);
  run();
  BOOST_TEST_REQUIRE(first->ended());
  BOOST_TEST(first->result().get<tensor>()->bitwise_equal(large_tensor(4.0f)));
  // Only the other one is given out again, in the next session.
  BOOST_REQUIRE(heard().sessions.size() == 2u);
  BOOST_TEST(heard().orders.size() == 3u);
  BOOST_TEST(!second->ended());
}

BOOST_FIXTURE_TEST_CASE(results_of_one_worker_are_taken_in_the_order_of_their_sending, small_office) {
  const auto first = schedule();
  const auto second = schedule();
  outcome(session(), heard().orders.at(0).second, large_tensor());
  outcome(session(), heard().orders.at(1).second, tensor::of({1.0f}));
  BOOST_TEST(!first->ended());
  BOOST_TEST(!second->ended());
  transport->complete(0);
  run();
  BOOST_TEST(first->ended());
  BOOST_TEST(second->ended());
}

// M-2
BOOST_FIXTURE_TEST_CASE(results_of_an_earlier_session_that_are_lost_do_not_end_the_next, small_office) {
  const auto scheduled = schedule();
  const auto before = session();
  const auto id = heard().orders.at(0).second;
  outcome(before, id, large_tensor());
  // The worker comes back as another process.
  up();
  BOOST_REQUIRE(heard().sessions.size() == 2u);
  transport->fail(0, {status_code::unavailable, "the sender is gone"});
  run();
  outcome(before, id, large_tensor());
  BOOST_TEST(transport->fetches.size() == 1u);  // refused before its tensors are fetched
  BOOST_TEST(heard().sessions.size() == 2u);
  BOOST_TEST(!scheduled->ended());
  outcome(session(), heard().orders.back().second, tensor::of({1.0f}));
  BOOST_TEST(scheduled->ended());
}

BOOST_FIXTURE_TEST_CASE(results_that_are_lost_end_the_session_and_its_closures_run_again, small_office) {
  const auto scheduled = schedule();
  outcome(session(), heard().orders.at(0).second, large_tensor());
  transport->fail(0, {status_code::unavailable, "the sender is gone"});
  run();
  BOOST_TEST(heard().sessions.size() == 2u);
  BOOST_REQUIRE(heard().orders.size() == 2u);
  BOOST_TEST(heard().orders.back().first == session());
  BOOST_TEST(!scheduled->ended());
}

// C-4
BOOST_FIXTURE_TEST_CASE(a_worker_that_comes_back_builds_the_values_that_somebody_still_holds, small_office) {
  for (const auto id : {7u, 8u, 9u})
    caf::anon_send(handle, resource_atom_v,
                   wire<closure_order>{{.builds = id,
                                        .function = function_registry::instance().id_of(registered<unused, int>()),
                                        .arguments = value::of(std::tuple{1})}});
  caf::anon_send(handle, release_atom_v, resource_id{8});
  run();
  up();
  using builds = std::vector<std::pair<session_id, resource_id>>;
  const auto before = heard().sessions.at(0);
  BOOST_TEST((heard().builds == builds{{before, 7}, {before, 8}, {before, 9}, {session(), 7}, {session(), 9}}));
}

BOOST_AUTO_TEST_SUITE_END()
