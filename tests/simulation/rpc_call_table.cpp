// The client's open calls (actors/rpc/internal/rpc_call_table.hpp) in every order of what can end them, and in batches.
#include "rpc_world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_call_table_suite)

namespace {

/// What an executor of the test has heard.
struct heard_orders {
  int messages = 0;
  std::vector<std::uint64_t> calls;
  std::vector<std::uint64_t> cancelled;
};

executor_actor::behavior_type listening_executor(executor_actor::pointer, std::shared_ptr<heard_orders> heard) {
  return {[=](run_atom, std::uint64_t, std::uint64_t, wire<call_orders>& orders) {
            ++heard->messages;
            BOOST_REQUIRE(orders.open().ok());
            for (const auto& each : orders->calls) heard->calls.push_back(each.id);
          },
          [=](cancel_atom, wire<call_cancellations>& unwanted) {
            BOOST_REQUIRE(unwanted.open().ok());
            for (const auto id : unwanted->calls) heard->cancelled.push_back(id);
          },
          [](run_atom, const incoming_call_ptr&) {},
          [](cancel_atom, std::uint64_t, std::uint64_t) {},
          [](dismiss_atom, std::uint64_t) {},
          [](retire_atom, const wire<status>&) { return caf::ok_atom_v; }};
}

struct one_table {
  explicit one_table(limits bounds = {})
      : calls({.bounds = bounds,
               .server = "the server",
               .now = [this] { return world.now(); },
               .wake = [this] { ++wakes; },
               .inbox = inbox}) {}
  ~one_table() { calls.close({status_code::cancelled, "the end"}); }

  void connect(int threads = 1) {
    std::vector<executor_actor> executors;
    for (auto i = 0; i < threads; ++i) {
      heard.push_back(std::make_shared<heard_orders>());
      executors.push_back(world.spawn(listening_executor, heard.back()));
    }
    calls.connected(executors, {.session = 5, .calls_per_client_max = 10'000, .request_bytes_max = 1 << 20});
    world.run();
  }
  watched_call start(duration limit = 10s) {
    auto result = watch(std::make_shared<call>("f", 0, std::vector<datum>{}, later(world.now(), limit)));
    calls.start(result.what);
    return result;
  }
  void reply(std::uint64_t id) { calls.take_replies({5, {{id, {}, datum{7}}}}); }

  virtual_system world;
  int wakes = 0;
  std::vector<std::shared_ptr<heard_orders>> heard;
  reply_sink inbox = world.spawn([](reply_sink::pointer) -> reply_sink::behavior_type {
    return {[](outcome_atom, std::uint64_t, const wire<call_replies>&) {}};
  });
  call_table calls;
};

void end_in_table(one_table& table, const watched_call& what, ending how) {
  switch (how) {
    case ending::reply:
      return table.reply(what.what->id);
    case ending::failure:
      return table.calls.fail(what.what->id, {status_code::data_loss, "damaged"});
    case ending::cancel:
      return table.calls.cancel(what.what);
    case ending::deadline:
      return static_cast<void>(table.calls.expire(what.what->deadline));
    case ending::loss:
      return table.calls.disconnected({status_code::unavailable, "lost"});
    case ending::close:
      return table.calls.close({status_code::cancelled, "closed"});
  }
}

BOOST_AUTO_TEST_CASE(in_every_order_of_ends_the_first_one_ends_a_call_that_was_sent) {  // RPC-1
  std::vector<ending> order{ending::reply,    ending::failure, ending::cancel,
                            ending::deadline, ending::loss,    ending::close};
  auto orders = 0;
  do {
    one_table table;
    table.connect();
    const auto sent = table.start();
    const auto beside = table.start(1h);
    for (const auto how : order) {
      end_in_table(table, sent, how);
      BOOST_TEST_REQUIRE(*sent.ends == 1);
      BOOST_TEST_REQUIRE((sent.code() == code_of(order.front())));
    }
    BOOST_TEST_REQUIRE(*beside.ends == 1);
    BOOST_TEST_REQUIRE(table.calls.size() == 0u);
    table.world.run();
    const auto told = order.front() == ending::cancel ? 1u : 0u;
    BOOST_TEST_REQUIRE(table.heard[0]->cancelled.size() == told);
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  BOOST_TEST(orders == 720);
}

BOOST_AUTO_TEST_CASE(in_every_order_of_ends_a_call_that_was_not_sent_ends_once_and_outlives_the_loss) {  // RPC-1
  std::vector<ending> order{ending::cancel, ending::deadline, ending::loss, ending::close};
  do {
    one_table table;
    const auto unsent = table.start();
    auto first = order.front() == ending::loss ? order[1] : order.front();
    for (std::size_t i = 0; i < order.size(); ++i) {
      end_in_table(table, unsent, order[i]);
      BOOST_TEST_REQUIRE(*unsent.ends == (i == 0 && order[0] == ending::loss ? 0 : 1));
    }
    BOOST_TEST_REQUIRE((unsent.code() == code_of(first)));
    table.connect();
    BOOST_TEST_REQUIRE(table.heard[0]->calls.empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_FIXTURE_TEST_CASE(answers_to_calls_that_nobody_made_are_ignored, one_table) {
  connect();
  const auto open = start();
  calls.take_replies({5, {{0, {}, {}}, {99, {}, datum{1}}, {~std::uint64_t{0}, {status_code::unknown, "x"}, {}}}});
  calls.fail(99, {status_code::data_loss, "damaged"});
  const auto stranger = watch(std::make_shared<call>("f", 0, std::vector<datum>{}, never));
  stranger.what->id = open.what->id;
  calls.cancel(stranger.what);
  BOOST_TEST(!open.what->ended());
  reply(open.what->id);
  reply(open.what->id);
  BOOST_TEST(ended_with(open, status_code::ok));
  BOOST_TEST(open.what->result().as<int>() == 7);
}

BOOST_FIXTURE_TEST_CASE(a_thousand_calls_leave_in_a_few_messages_and_each_once, one_table) {
  connect();
  std::vector<watched_call> open;
  for (auto i = 0; i < 1000; ++i) open.push_back(start());
  calls.flush();
  world.run();
  BOOST_TEST(heard[0]->calls.size() == 1000u);
  BOOST_TEST(heard[0]->messages <= 4 + 8);
  // Asked once for the batch, and once for the first deadline.
  BOOST_TEST(wakes <= 3);
  auto ids = heard[0]->calls;
  std::sort(ids.begin(), ids.end());
  BOOST_TEST((std::adjacent_find(ids.begin(), ids.end()) == ids.end()));
}

BOOST_FIXTURE_TEST_CASE(calls_that_are_over_before_they_are_sent_are_not_sent, one_table) {
  std::vector<watched_call> open;
  for (auto i = 0; i < 100; ++i) open.push_back(start());
  for (auto i = 0; i < 100; i += 2) calls.cancel(open[static_cast<std::size_t>(i)].what);
  connect();
  BOOST_TEST(heard[0]->calls.size() == 50u);
  BOOST_TEST(heard[0]->cancelled.empty());
}

BOOST_FIXTURE_TEST_CASE(calls_go_to_all_executors_and_their_cancellations_after_them, one_table) {
  connect(2);
  std::vector<watched_call> open;
  for (auto i = 0; i < 100; ++i) open.push_back(start());
  calls.flush();
  world.run();
  BOOST_TEST(heard[0]->calls.size() == 50u);
  BOOST_TEST(heard[1]->calls.size() == 50u);
  for (const auto& each : open) calls.cancel(each.what);
  world.run();
  for (const auto& each : heard) {
    std::sort(each->calls.begin(), each->calls.end());
    std::sort(each->cancelled.begin(), each->cancelled.end());
    BOOST_TEST((each->calls == each->cancelled));
  }
}

BOOST_AUTO_TEST_CASE(a_client_refuses_calls_beyond_its_own_limit_or_its_servers) {
  one_table table{{.calls_per_client_max = 3}};
  std::vector<watched_call> open;
  for (auto i = 0; i < 3; ++i) open.push_back(table.start());
  BOOST_TEST(ended_with(table.start(), status_code::resource_exhausted, "calls_per_client_max"));
  table.calls.cancel(open[0].what);
  const auto again = table.start();
  BOOST_TEST(!again.what->ended());
  table.calls.connected({}, {.session = 5, .calls_per_client_max = 1, .request_bytes_max = 1 << 20});
  table.calls.cancel(again.what);
  BOOST_TEST(ended_with(table.start(), status_code::resource_exhausted, "calls_per_client_max"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
