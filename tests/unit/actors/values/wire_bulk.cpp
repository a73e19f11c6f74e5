#include "support/held_transport.hpp"
#include "support/virtual_system.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(wire_bulk_suite)

namespace {

struct pair_of_tensors {
  tensor first;
  tensor second;
  int number = 0;
};

struct idle_state {
  explicit idle_state(caf::event_based_actor*) {}
};

using receiver = simulated_actor<idle_state>;

struct world : virtual_system {
  ~world() { bulk_transport::install(nullptr); }

  std::shared_ptr<held_transport> install() {
    auto transport = std::make_shared<held_transport>();
    bulk_transport::install(transport);
    return transport;
  }
};

/// What a handler saw of a message, and how often.
struct sight {
  int times = 0;
  status problem;
  pair_of_tensors content;
};

void receive(receiver& actor, const frame& arrived, sight& seen, duration limit = 5s) {
  actor.act([&, limit] {
    auto message = arrival_of<pair_of_tensors>(arrived);
    when_local(actor.pointer(), message, limit, [&](wire<pair_of_tensors>& opened, const status& problem) {
      ++seen.times;
      seen.problem = problem;
      if (problem.ok()) seen.content = *opened;
    });
  });
}

frame large_frame() { return frame_of(wire<pair_of_tensors>{{large_tensor(1), large_tensor(2), 3}}); }

void check_content(const sight& seen) {
  BOOST_TEST(seen.times == 1);
  BOOST_TEST(seen.problem.render() == "ok");
  BOOST_TEST(seen.content.first.bitwise_equal(large_tensor(1)));
  BOOST_TEST(seen.content.second.bitwise_equal(large_tensor(2)));
  BOOST_TEST(seen.content.number == 3);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_large_tensor, world)

BOOST_AUTO_TEST_CASE(travels_inside_its_message_when_the_process_has_no_bulk_transport) {
  const auto sent = large_frame();
  BOOST_TEST(sent.size() > 2 * attachment_bytes_min);
  BOOST_TEST(!arrival_of<pair_of_tensors>(sent).waits_for_bulk());
  sight seen;
  receiver actor{*this};
  receive(actor, sent, seen);
  check_content(seen);
}

BOOST_AUTO_TEST_CASE(stays_where_it_is_until_the_receiver_fetches_it) {
  const auto transport = install();
  const auto weights = large_tensor(1);
  const auto sent = frame_of(wire<pair_of_tensors>{{weights, large_tensor(2), 3}});
  BOOST_TEST(sent.size() < 1024u);
  BOOST_REQUIRE(transport->offers.size() == 2u);
  BOOST_TEST(transport->offers.at(1).data() == weights.bytes().data());
  BOOST_TEST((transport->lifetimes == std::vector<duration>(2, bulk_transport::offer_lifetime)));
}

// W-2
BOOST_AUTO_TEST_CASE(is_there_before_the_handler_sees_the_message) {
  const auto transport = install();
  sight seen;
  receiver actor{*this};
  receive(actor, large_frame(), seen, 7s);
  BOOST_REQUIRE(transport->fetches.size() == 2u);
  for (const auto& order : transport->fetches) {
    BOOST_TEST((order.limit == 7s));
    BOOST_TEST(order.ticket.endpoint == "here:1");
    BOOST_TEST(order.ticket.size_bytes == attachment_bytes_min);
  }
  transport->complete(1);
  run();
  BOOST_TEST(seen.times == 0);
  transport->complete(0);
  run();
  check_content(seen);
  BOOST_TEST(transport->offers.empty());
}

// W-2
BOOST_AUTO_TEST_CASE(may_arrive_on_any_thread_while_the_handler_runs_in_the_actor) {
  const auto transport = install();
  sight seen;
  receiver actor{*this};
  receive(actor, large_frame(), seen);
  // One after the other into the mailbox: the test's scheduler takes no lock.
  for (auto i = 0u; i < 2; ++i) std::thread{[&, i] { transport->complete(i); }}.join();
  BOOST_TEST(seen.times == 0);
  run();
  check_content(seen);
}

// W-1, W-2
BOOST_AUTO_TEST_CASE(that_does_not_arrive_gives_the_handler_the_first_problem_once_all_fetches_have_ended) {
  const auto transport = install();
  sight seen;
  receiver actor{*this};
  receive(actor, large_frame(), seen);
  transport->fail(1, {status_code::unavailable, "the sender is gone"});
  run();
  BOOST_TEST(seen.times == 0);
  transport->fail(0, {status_code::deadline_exceeded, "too late"});
  run();
  BOOST_TEST(seen.times == 1);
  BOOST_TEST((seen.problem == status{status_code::unavailable, "the sender is gone"}));
}

BOOST_AUTO_TEST_CASE(that_one_of_two_fetches_fails_for_is_a_problem_too) {
  const auto transport = install();
  sight seen;
  receiver actor{*this};
  receive(actor, large_frame(), seen);
  transport->fail(0, {status_code::not_found, "fetched before"});
  transport->complete(1);
  run();
  BOOST_TEST(seen.times == 1);
  BOOST_TEST((seen.problem.code() == status_code::not_found));
}

// W-1
BOOST_AUTO_TEST_CASE(that_is_announced_to_a_process_without_transport_is_a_problem) {
  const auto transport = install();
  const auto sent = large_frame();
  bulk_transport::install(nullptr);
  sight seen;
  receiver actor{*this};
  receive(actor, sent, seen);
  BOOST_TEST(seen.times == 1);
  BOOST_TEST((seen.problem.code() == status_code::failed_precondition));
}

BOOST_AUTO_TEST_CASE(that_arrives_after_the_end_of_its_receiver_is_dropped) {
  const auto transport = install();
  sight seen;
  receiver actor{*this};
  receive(actor, large_frame(), seen);
  actor.end();
  transport->complete(0);
  transport->complete(1);
  run();
  BOOST_TEST(seen.times == 0);
}

BOOST_AUTO_TEST_CASE(of_a_frame_that_is_cut_is_never_fetched) {
  const auto transport = install();
  auto sent = large_frame();
  sent.pop_back();
  sight seen;
  receiver actor{*this};
  receive(actor, sent, seen);
  BOOST_TEST(transport->fetches.empty());
  BOOST_TEST(seen.times == 1);
  BOOST_TEST((seen.problem.code() == status_code::data_loss));
}

// W-2
BOOST_AUTO_TEST_CASE(that_has_not_arrived_is_not_opened) {
  const auto transport = install();
  auto message = arrival_of<pair_of_tensors>(large_frame());
  BOOST_TEST((message.open().code() == status_code::internal));
  receiver actor{*this};
  actor.act([&] { when_local(actor.pointer(), message, 5s, [&](wire<pair_of_tensors>&, const status&) {}); });
  BOOST_TEST(message.waits_for_bulk());
  BOOST_TEST((message.open().code() == status_code::internal));
  transport->complete(0);
  transport->complete(1);
  BOOST_TEST(message.open().ok());
}

BOOST_AUTO_TEST_CASE(that_has_not_arrived_is_not_passed_on) {
  const auto transport = install();
  auto waiting = arrival_of<pair_of_tensors>(large_frame());
  BOOST_TEST(waiting.waits_for_bulk());
  frame result;
  caf::binary_serializer sink{nullptr, result};
  BOOST_TEST(static_cast<bool>(sink(waiting)));
}

BOOST_AUTO_TEST_CASE(needs_no_transport_for_a_small_message) {
  const auto transport = install();
  sight seen;
  receiver actor{*this};
  receive(actor, frame_of(wire<pair_of_tensors>{{tensor::of({1.0f}), tensor::of({2.0f}), 3}}), seen);
  BOOST_TEST(seen.times == 1);
  BOOST_TEST(seen.content.number == 3);
  BOOST_TEST(transport->offers.empty());
}

BOOST_AUTO_TEST_CASE(is_not_needed_to_end_a_fetch_of_nothing) {
  install();
  auto ended = 0;
  const auto arrival = std::make_shared<wire_arrival>();
  fetch_attachments(arrival, 1s, [&] { ++ended; });
  BOOST_TEST(arrival->problem.ok());
  BOOST_TEST(ended == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
