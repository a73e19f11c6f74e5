// The actors that run a server's methods (actors/rpc/internal/rpc_executor.hpp): what is handed to them is answered
// once, whatever happens to them.
#include "rpc_world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_executor_suite)

namespace {

/// A call of another layer, and how it was answered.
struct handed_call {
  std::shared_ptr<int> answers = std::make_shared<int>(0);
  std::shared_ptr<status> ended = std::make_shared<status>();
};

handed_call hand(const executor_actor& to, std::uint64_t id, std::string method, duration limit) {
  handed_call result;
  auto arrived = std::make_shared<incoming_call>();
  arrived->client = 1;
  arrived->order.id = id;
  arrived->order.method = std::move(method);
  arrived->order.limit_ns = limit.count();
  arrived->reply = [result](const status& ended, const datum&) {
    ++*result.answers;
    *result.ended = ended;
  };
  caf::anon_send(to, run_atom_v, incoming_call_ptr{std::move(arrived)});
  return result;
}

enum class blow { release, cancel, dismissal, deadline, retirement, death };

void strike(virtual_system& world, simulated_server& server, const executor_actor& at, blow how) {
  switch (how) {
    case blow::release:
      return server.release();
    case blow::cancel:
      caf::anon_send(at, cancel_atom_v, std::uint64_t{1}, std::uint64_t{1});
      return caf::anon_send(at, cancel_atom_v, std::uint64_t{1}, std::uint64_t{2});
    case blow::dismissal:
      return caf::anon_send(at, dismiss_atom_v, std::uint64_t{1});
    case blow::deadline:
      world.clock().advance_time(10s);
      return;
    case blow::retirement:
      return caf::anon_send(at, retire_atom_v, wire<status>{{status_code::unavailable, "it stops"}});
    case blow::death:
      return caf::anon_send_exit(at, caf::exit_reason::kill);
  }
}

BOOST_AUTO_TEST_CASE(in_every_order_of_ends_an_executor_answers_each_call_once) {  // RPC-2
  std::vector<blow> order{blow::release, blow::cancel, blow::dismissal, blow::deadline, blow::retirement, blow::death};
  do {
    for (const auto at_once : {false, true}) {
      virtual_system world;
      simulated_server server{world, {.running_calls_max = 1}};
      const auto at = server.executors.front();
      const auto running = hand(at, 1, "hold", 10s);
      const auto waiting = hand(at, 2, "hold", 10s);
      world.run();
      BOOST_TEST_REQUIRE(server.seen.began == 1);
      BOOST_TEST_REQUIRE(*running.answers == 0);
      for (const auto how : order) {
        strike(world, server, at, how);
        if (!at_once) world.run();
        if (!at_once) BOOST_TEST_REQUIRE(*running.answers == 1);
        if (!at_once) BOOST_TEST_REQUIRE(*waiting.answers == 1);
      }
      world.run();
      BOOST_TEST_REQUIRE(*running.answers == 1);
      BOOST_TEST_REQUIRE(*waiting.answers == 1);
      BOOST_TEST_REQUIRE(server.seen.began <= 2);
      const auto late = hand(at, 3, "hold", 10s);
      world.run();
      BOOST_TEST_REQUIRE(*late.answers == 1);
      BOOST_TEST_REQUIRE((late.ended->code() == status_code::unavailable));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(a_call_whose_id_is_open_already_is_refused_and_the_first_one_goes_on) {
  virtual_system world;
  simulated_server server{world};
  const auto at = server.executors.front();
  const auto first = hand(at, 1, "hold", 10s);
  const auto second = hand(at, 1, "hold", 10s);
  world.run();
  BOOST_TEST(*first.answers == 0);
  BOOST_TEST((second.ended->code() == status_code::invalid_argument), second.ended->render());
  server.release();
  world.run();
  BOOST_TEST(*first.answers == 1);
  BOOST_TEST(first.ended->ok());
  BOOST_TEST(server.admitted->calls() == 0u);
  const auto third = hand(at, 1, "hold", 10s);
  world.run();
  BOOST_TEST(third.ended->ok(), third.ended->render());
}

BOOST_AUTO_TEST_CASE(calls_that_end_while_they_wait_are_passed_over_and_all_others_run) {  // RPC-2, RPC-3
  for (const auto kept : {2u, 7u, 1000u}) {
    virtual_system world;
    simulated_server server{world, {.running_calls_max = 1}};
    const auto at = server.executors.front();
    std::vector<handed_call> calls;
    for (std::uint64_t id = 0; id < 1000; ++id) calls.push_back(hand(at, id, "hold", 10s));
    world.run();
    BOOST_TEST_REQUIRE(server.seen.began == 1);
    auto wanted = 1;
    for (std::uint64_t id = 999; id > 0; --id) {
      if (id % kept == 0)
        ++wanted;
      else
        caf::anon_send(at, cancel_atom_v, std::uint64_t{1}, id);
    }
    world.run();
    server.release();
    world.run();
    BOOST_TEST(server.seen.began == wanted);
    for (std::size_t id = 0; id < calls.size(); ++id) {
      BOOST_TEST_REQUIRE(*calls[id].answers == 1);
      BOOST_TEST_REQUIRE(calls[id].ended->ok() == (id % kept == 0));
    }
    BOOST_TEST(server.admitted->calls() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_call_that_has_no_time_left_does_not_run) {
  virtual_system world;
  simulated_server server{world};
  const auto late = hand(server.executors.front(), 1, "hold", 0ns);
  world.run();
  BOOST_TEST((late.ended->code() == status_code::deadline_exceeded));
  BOOST_TEST(server.seen.began == 0);
}

BOOST_AUTO_TEST_CASE(a_thousand_answers_leave_in_a_few_messages_however_the_calls_came) {
  virtual_system world;
  simulated_server server{world};
  const auto messages = std::make_shared<int>(0);
  const auto answered = std::make_shared<std::size_t>(0);
  const auto sink = world.spawn([=](reply_sink::pointer) -> reply_sink::behavior_type {
    return {[=](outcome_atom, std::uint64_t, wire<call_replies>& replies) {
      ++*messages;
      if (replies.open().ok()) *answered += replies->replies.size();
    }};
  });
  server.admitted->open_session(9, "");
  for (const auto calls_per_message : {1000, 1}) {
    *messages = 0;
    *answered = 0;
    for (auto next = 1; next <= 1000;) {
      call_orders orders;
      for (auto i = 0; i < calls_per_message; ++i, ++next)
        orders.calls.push_back({static_cast<std::uint64_t>(next), "add", 0, -1, {next, 1}});
      caf::send_as(sink, server.executors.front(), run_atom_v, std::uint64_t{9}, std::uint64_t{0},
                   wire<call_orders>{std::move(orders)});
    }
    world.run();
    BOOST_TEST(*answered == 1000u);
    BOOST_TEST(*messages <= 10);
  }
}

BOOST_FIXTURE_TEST_CASE(a_server_of_two_executors_runs_calls_on_both_and_is_lost_as_one, one_server) {
  serve({}, 2);
  simulated_client client{world, at};
  std::vector<watched_call> open;
  for (auto i = 0; i < 20; ++i) open.push_back(client.start("hold"));
  BOOST_TEST(server->seen.began == 20);
  client.to_server->cancel(open[0].what);
  client.to_server->cancel(open[1].what);
  world.run();
  BOOST_TEST(server->seen.cancelled == 2);
  for (auto i = 0; i < 20; ++i) BOOST_TEST(client.sum(i, 1) == i + 1);
  lose();
  for (std::size_t i = 2; i < open.size(); ++i) BOOST_TEST(ended_with(open[i], status_code::unavailable));
  BOOST_TEST(server->seen.cancelled == 20);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
