// What an executor makes of calls whose tensors arrive late.
#include "support/held_transport.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/rpc/internal/rpc_executor.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_executor_suite)

namespace {

constexpr std::uint64_t session = 5;

std::shared_ptr<method_table> methods_with(std::vector<std::int32_t>& started) {
  auto methods = std::make_shared<method_table>();
  methods->add(make_method("note",
                           [&started](std::int32_t number, const tensor&) {
                             started.push_back(number);
                             return number;
                           }),
               10);
  return methods;
}

/// An executor, and what a client hears of its calls: "ok", or why not.
struct executor_room : virtual_system {
  executor_room() { admitted->open_session(session, "worker"); }
  void call(std::uint64_t id, tensor content) {
    const auto alone = has_attachments(datum{content}) ? id : 0;
    call_orders orders;
    orders.calls.push_back(
        {.id = id, .method = "note", .limit_ns = -1, .arguments = {static_cast<std::int32_t>(id), std::move(content)}});
    caf::send_as(client, handle, run_atom_v, std::uint64_t{session}, std::uint64_t{alone},
                 from_elsewhere(std::move(orders)));
    run();
  }
  void cancel(std::uint64_t id) {
    caf::anon_send(handle, cancel_atom_v, wire<call_cancellations>{{session, {id}}});
    run();
  }
  void complete(std::size_t fetch) {
    transport->complete(fetch);
    run();
  }

  installed_transport transport;
  std::vector<std::int32_t> started;
  std::map<std::uint64_t, std::string> replies;
  reply_sink client = spawn([this]() -> reply_sink::behavior_type {
    return {[this](outcome_atom, std::uint64_t, wire<call_replies>& message) {
      for (const auto& each : message->replies) replies[each.id] = each.ended.ok() ? "ok" : each.ended.render();
    }};
  });
  std::shared_ptr<admission> admitted = std::make_shared<admission>(limits{});
  const std::shared_ptr<method_table> methods = methods_with(started);
  executor_actor handle = spawn(executor, executor_options{.methods = methods, .admitted = admitted});
};

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(calls_do_not_wait_for_the_tensors_of_others, executor_room) {
  call(1, large_tensor());
  call(2, tensor::of({1.0f}));
  BOOST_TEST(replies[2] == "ok");
  complete(0);
  BOOST_TEST(replies[1] == "ok");
  BOOST_TEST((started == std::vector<std::int32_t>{2, 1}));
}

// RPC-2
BOOST_FIXTURE_TEST_CASE(a_call_that_was_cancelled_before_its_tensors_came_is_never_run, executor_room) {
  call(1, large_tensor());
  cancel(1);
  BOOST_TEST(says(replies[1], "does not want the result any more"));
  replies.clear();
  complete(0);
  BOOST_TEST(started.empty());
  BOOST_TEST(replies.empty());
}

BOOST_FIXTURE_TEST_CASE(late_calls_of_a_client_that_is_gone_are_never_run, executor_room) {
  call(1, large_tensor());
  call(2, large_tensor());
  caf::anon_send(handle, dismiss_atom_v, std::uint64_t{session});
  run();
  complete(0);
  complete(1);
  BOOST_TEST(started.empty());
}

// RPC-3: they were under way when the server gave their client up, and some have no deadline.
BOOST_FIXTURE_TEST_CASE(calls_that_come_after_the_end_of_their_session_are_refused, executor_room) {
  admitted->close_session(session);
  call(1, tensor::of({1.0f}));
  BOOST_TEST(says(replies[1], "unavailable"), replies[1]);
  BOOST_TEST(started.empty());
}

BOOST_FIXTURE_TEST_CASE(a_call_in_another_role_than_the_method_is_for_is_refused_and_never_run, executor_room) {
  methods->permit("note", {"chief"});
  call(1, tensor::of({1.0f}));
  BOOST_TEST(says(replies[1], "permission_denied"), replies[1]);
  call(2, large_tensor());
  complete(0);
  BOOST_TEST(says(replies[2], "the caller's is worker"), replies[2]);
  BOOST_TEST(started.empty());
  BOOST_TEST(admitted->calls() == 0u);
  admitted->open_session(session, "chief");
  call(3, tensor::of({1.0f}));
  BOOST_TEST(replies[3] == "ok");
}

BOOST_FIXTURE_TEST_CASE(a_server_that_stops_answers_calls_whose_tensors_are_under_way, executor_room) {
  call(1, large_tensor());
  caf::anon_send(handle, retire_atom_v, wire<status>{{status_code::unavailable, "closing time"}});
  run();
  BOOST_TEST(says(replies[1], "closing time"));
  complete(0);
  BOOST_TEST(started.empty());
}

BOOST_FIXTURE_TEST_CASE(a_call_whose_tensors_are_lost_is_answered, executor_room) {
  call(1, large_tensor());
  transport->fail(0, {status_code::unavailable, "the sender is gone"});
  run();
  BOOST_TEST(says(replies[1], "the call did not arrive whole"));
  BOOST_TEST(started.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
