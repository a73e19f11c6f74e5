// What the coordinator makes of outcomes whose results arrive late.
#include "support/held_transport.hpp"
#include "support/simulated_world.hpp"

#include <troupe/actors/closures/coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_suite)

namespace {

int unused(int number) { return number; }

/// What a stand-in for a worker was sent: sessions it was admitted to, and closures of each.
struct heard_by_worker {
  outcome_sink coordinator;
  std::vector<session_id> sessions;
  std::vector<std::pair<session_id, closure_id>> orders;
};

worker_actor::behavior_type stand_in(worker_actor::pointer, std::shared_ptr<heard_by_worker> heard) {
  return {[heard](admit_atom, const outcome_sink& coordinator, wire<session_terms>& terms) {
            heard->coordinator = coordinator;
            heard->sessions.push_back(terms->session);
            return caf::ok_atom_v;
          },
          [](dismiss_atom, session_id) {},
          [heard](run_atom, session_id session, wire<run_orders>& message) {
            for (const auto& each : message->orders) heard->orders.emplace_back(session, each.id);
          },
          [](cancel_atom, session_id, wire<cancel_orders>&) {}, [](view_atom, wire<cluster_view>&) {}};
}

/// A coordinator with one worker that answers when the test says so.
struct office : simulated_world {
  office() {
    heard = std::make_shared<heard_by_worker>();
    worker_handle = spawn(stand_in, heard);
    queue = std::make_shared<submission_queue>();
    handle = spawn(coordinator, queue, coordinator_options{}, event_bus_actor{});
    caf::anon_send(handle, up_atom_v, worker_handle,
                   wire<identity>{{.task = {"worker", 0}, .incarnation = 1, .build_id = program_build_id()}});
    run();
  }
  ~office() { heard->coordinator = nullptr; }

  std::shared_ptr<closure> schedule() {
    auto result = std::make_shared<closure>(function_registry::instance().id_of(registered<unused, int>()),
                                            value::of(std::tuple{1}), std::vector<closure_input>{}, schedule_options{});
    if (queue->push(result)) caf::anon_send(handle, submit_atom_v);
    run();
    return result;
  }
  void outcome(session_id session, closure_id id, const tensor& result) {
    send(session, {.outcomes = {{.id = id, .ended = {}, .result = value::of(result)}}, .session_ended = {}});
  }
  void send(session_id session, run_outcomes message) {
    caf::anon_send(heard->coordinator, outcome_atom_v, session, from_elsewhere(std::move(message)));
    run();
  }
  session_id session() const { return heard->sessions.back(); }

  installed_transport transport;
  std::shared_ptr<heard_by_worker> heard;
  worker_actor worker_handle;
  std::shared_ptr<submission_queue> queue;
  coordinator_actor handle;
};

const status given_up{status_code::unavailable, "the worker gave its session up"};

}  // namespace

// C-3
BOOST_FIXTURE_TEST_CASE(a_closure_that_has_ended_is_not_run_again_because_its_result_is_under_way, office) {
  const auto first = schedule();
  const auto second = schedule();
  BOOST_REQUIRE(heard->orders.size() == 2u);
  outcome(session(), heard->orders[0].second, large_tensor(4.0f));
  send(session(), {.outcomes = {}, .session_ended = given_up});
  BOOST_TEST(heard->sessions.size() == 1u);
  transport->complete(0);
  run();
  BOOST_TEST_REQUIRE(first->ended());
  BOOST_TEST(first->result().get<tensor>()->bitwise_equal(large_tensor(4.0f)));
  // Only the other one is given out again, in the next session.
  BOOST_REQUIRE(heard->sessions.size() == 2u);
  BOOST_TEST(heard->orders.size() == 3u);
  BOOST_TEST(!second->ended());
}

BOOST_FIXTURE_TEST_CASE(results_of_one_worker_are_taken_in_the_order_of_their_sending, office) {
  const auto first = schedule();
  const auto second = schedule();
  outcome(session(), heard->orders.at(0).second, large_tensor());
  outcome(session(), heard->orders.at(1).second, tensor::of({1.0f}));
  BOOST_TEST(!first->ended());
  BOOST_TEST(!second->ended());
  transport->complete(0);
  run();
  BOOST_TEST(first->ended());
  BOOST_TEST(second->ended());
}

// M-2
BOOST_FIXTURE_TEST_CASE(results_of_an_earlier_session_that_are_lost_do_not_end_the_next, office) {
  const auto scheduled = schedule();
  const auto before = session();
  const auto id = heard->orders.at(0).second;
  outcome(before, id, large_tensor());
  // The worker comes back as another process.
  caf::anon_send(handle, up_atom_v, worker_handle,
                 wire<identity>{{.task = {"worker", 0}, .incarnation = 2, .build_id = program_build_id()}});
  run();
  BOOST_REQUIRE(heard->sessions.size() == 2u);
  transport->fail(0, {status_code::unavailable, "the sender is gone"});
  run();
  outcome(before, id, large_tensor());
  BOOST_TEST(transport->fetches.size() == 1u);  // refused before its tensors are fetched
  BOOST_TEST(heard->sessions.size() == 2u);
  BOOST_TEST(!scheduled->ended());
  outcome(session(), heard->orders.back().second, tensor::of({1.0f}));
  BOOST_TEST(scheduled->ended());
}

BOOST_FIXTURE_TEST_CASE(results_that_are_lost_end_the_session_and_its_closures_run_again, office) {
  const auto scheduled = schedule();
  outcome(session(), heard->orders.at(0).second, large_tensor());
  transport->fail(0, {status_code::unavailable, "the sender is gone"});
  run();
  BOOST_TEST(heard->sessions.size() == 2u);
  BOOST_REQUIRE(heard->orders.size() == 2u);
  BOOST_TEST(heard->orders.back().first == session());
  BOOST_TEST(!scheduled->ended());
}

BOOST_AUTO_TEST_SUITE_END()
