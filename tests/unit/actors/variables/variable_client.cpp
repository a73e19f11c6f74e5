// How operations of many fibers share messages, and the client's half of V-1: what it sends again, and how.
#include "support/held_transport.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/variables/client.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(variable_client_suite)

namespace {

using namespace troupe;

constexpr std::uint64_t incarnation = 7;
constexpr shard_address only_shard{.server = 0, .incarnation = incarnation, .shard = 1};

/// How many operations each message to the shard has held.
using batch_sizes = std::vector<std::size_t>;

shard_actor::behavior_type counting_shard(std::shared_ptr<batch_sizes> sizes) {
  return {[sizes](operate_atom, client_id, link_number, wire<operation_batch>& batch) {
    sizes->push_back(batch->operations.size());
    return wire<outcome_batch>{outcome_batch{{}, std::vector<operation_outcome>(batch->operations.size())}};
  }};
}

parameter_server_actor::behavior_type server_of(const shard_actor& shard) {
  return {[](create_atom, std::uint64_t, wire<shard_orders>&) { return caf::ok_atom_v; },
          [](release_atom, std::uint64_t, wire<shard_numbers>&) { return caf::ok_atom_v; },
          [shard](find_atom, std::uint64_t, std::uint64_t) { return shard; },
          [](dismiss_atom, std::uint64_t, wire<session_fence>&) { return caf::ok_atom_v; },
          [](alive_atom, std::uint64_t number) { return number; }};
}

member_actor::behavior_type door_of(const parameter_server_actor& server) {
  return {[](adopt_atom, const membership_actor&, wire<adoption>&) { return wire<member_identity>{member_identity{}}; },
          [](worker_atom) { return worker_actor{}; },
          [server](server_atom) { return server; },
          [](leave_atom, wire<status>&) {},
          [](waits_atom) { return wire<process_waits>{}; },
          [](why_atom, std::int64_t) { return wire<cluster_waits>{}; },
          [](find_atom, const std::string&, std::int64_t) -> caf::result<caf::strong_actor_ptr, wire<actor_interface>> {
            return make_error(status{status_code::not_found, "no actor is offered here"});
          },
          [](alive_atom, std::uint64_t number) { return number; },
          [](view_atom, wire<cluster_view>&) {},
          [](retire_atom, wire<status>&) { return caf::ok_atom_v; },
          [](dismiss_atom, wire<status>&) {}};
}

dialer_actor::behavior_type dialer_of(const member_actor& door) {
  return {[door](dial_atom, const std::string&, std::uint16_t) { return door; },
          [](hang_up_atom, const caf::node_id&) {}};
}

/// An actor whose fibers use variables, as a worker's closures do.
struct client_of_fibers : closure_environment {
  explicit client_of_fibers(caf::event_based_actor* actor) : self(actor), clock(actor) {}

  void begin(const dialer_actor& dialer) {
    fibers.emplace(clock, fiber_host::options{}, this);
    operations.emplace(self, clock, dialer, variable_client_options{}, &*fibers);
    fibers->at_turn_end([this] { operations->flush(); });
    operations->take_view(
        {.epoch = 1, .members = {{.task = {"ps", 0}, .incarnation = incarnation, .state = member_presence::present}}});
  }
  variable_client& variables() override { return *operations; }
  int worker_index() const override { return 0; }
  client_ptr variables_of_replicas() override { return {}; }
  std::shared_ptr<void>& worker_local(const void*) override { return local_; }

  caf::event_based_actor* self;
  timers clock;
  std::shared_ptr<void> local_;
  std::optional<variable_client> operations;
  /// Goes first: its fibers use the rest.
  std::optional<fiber_host> fibers;
};

void read() { perform({}, {{only_shard, {.kind = operation_kind::read}}}, std::chrono::seconds{1}); }

}  // namespace

BOOST_AUTO_TEST_CASE(what_fibers_ask_after_a_common_answer_leaves_in_one_message_again) {
  virtual_system world;
  const auto sizes = std::make_shared<batch_sizes>();
  const auto shard = world.spawn(counting_shard, sizes);
  const auto dialer = world.spawn(dialer_of, world.spawn(door_of, world.spawn(server_of, shard)));
  simulated_actor<client_of_fibers> client{world};
  client.act([&] { client->begin(dialer); });
  client.act([&] {
    const fiber_host::turn together{*client->fibers};
    for (std::uint64_t key = 1; key <= 3; ++key)
      client->fibers->run(key, [] {
        read();
        read();
        read();
      });
  });
  BOOST_TEST(client->fibers->active() == 0);
  BOOST_TEST(*sizes == (batch_sizes{3, 3, 3}), boost::test_tools::per_element());
}

namespace {

/// What a scripted shard was asked, and what it answers: the next script, or "ok" when there is none left.
struct shard_log {
  struct message {
    client_id client = 0;
    link_number link = 0;
    std::uint64_t first_open = 0;
    std::vector<std::uint64_t> sequences;
    session_id session = 0;
  };
  using script = std::function<caf::result<wire<outcome_batch>>(const operation_batch&)>;

  std::vector<message> messages;
  std::deque<script> scripts;
  int found = 0;
  bool deleted = false;
  /// The incarnation that the last search was meant for.
  std::uint64_t meant = 0;
  int dialled = 0;
  shard_actor::pointer self = nullptr;
};

wire<outcome_batch> fine(const operation_batch& batch) {
  return outcome_batch{{}, std::vector<operation_outcome>(batch.operations.size())};
}

shard_actor::behavior_type scripted_shard(shard_actor::pointer self, std::shared_ptr<shard_log> log) {
  log->self = self;
  return {[log](operate_atom, client_id client, link_number link,
                wire<operation_batch>& batch) -> caf::result<wire<outcome_batch>> {
    auto& seen = log->messages.emplace_back(shard_log::message{client, link, batch->first_open, {}, batch->session});
    for (const auto& each : batch->operations) seen.sequences.push_back(each.sequence);
    if (log->scripts.empty()) return fine(*batch);
    const auto script = std::move(log->scripts.front());
    log->scripts.pop_front();
    return script(*batch);
  }};
}

/// A client of one server with one shard, whose operations end in `ended`, in the order of their ends.
struct linked_client : virtual_system {
  struct actor_state {
    explicit actor_state(caf::event_based_actor* self) : clock(self) {}
    timers clock;
    std::optional<variable_client> operations;
  };

  explicit linked_client(const variable_client_options& options = {}) {
    client.act([this, options] {
      client->operations.emplace(client.pointer(), client->clock, dialer, options);
      client.pointer()->set_down_handler([this](caf::down_msg& down) {
        client->operations->down(down.source, {status_code::unavailable, "down"});
      });
    });
    view(incarnation, member_presence::present);
  }

  void view(std::uint64_t lives, member_presence state) {
    client.act([&] {
      client->operations->take_view(
          {.epoch = 1, .members = {{.task = {"ps", 0}, .incarnation = lives, .state = state}}});
      client->operations->flush();
    });
  }
  /// Several in one group share a message.
  void add(const std::string& name, int count = 1, duration limit = std::chrono::seconds{10}) {
    client.act([&] {
      const shard_request wanted{only_shard, {.kind = operation_kind::assign_add}};
      auto group = std::make_shared<operation_group>(std::vector<shard_request>(count, wanted), limit);
      group->done = [this, name, weak = std::weak_ptr{group}] {
        const auto& why = weak.lock()->outcomes.front().ended;
        ended.push_back(why.ok() ? name : name + ": " + why.render());
      };
      client->operations->submit(group);
      client->operations->flush();
    });
  }
  void add_all(const std::string& name, std::vector<shard_request> wanted) {
    client.act([&] {
      auto group = std::make_shared<operation_group>(std::move(wanted), std::chrono::seconds{10});
      group->done = [this, name] { ended.push_back(name); };
      client->operations->submit(group);
      client->operations->flush();
    });
  }
  void check(const std::vector<std::string>& expected) const {
    BOOST_TEST(ended == expected, boost::test_tools::per_element());
  }
  const shard_log::message& message(std::size_t index) const { return log->messages.at(index); }

  installed_transport transport;
  std::shared_ptr<shard_log> log = std::make_shared<shard_log>();
  std::vector<std::string> ended;
  shard_actor shard = spawn(scripted_shard, log);
  parameter_server_actor server = spawn([this]() -> parameter_server_actor::behavior_type {
    return {[](create_atom, std::uint64_t, wire<shard_orders>&) { return caf::ok_atom_v; },
            [](release_atom, std::uint64_t, wire<shard_numbers>&) { return caf::ok_atom_v; },
            [this](find_atom, std::uint64_t meant, std::uint64_t number) -> caf::result<shard_actor> {
              ++log->found;
              log->meant = meant;
              if (number != 1 || log->deleted)
                return make_error(status{status_code::not_found, "there is no such shard"});
              return shard;
            },
            [](dismiss_atom, std::uint64_t, wire<session_fence>&) { return caf::ok_atom_v; },
            [](alive_atom, std::uint64_t number) { return number; }};
  });
  member_actor door = spawn(door_of, server);
  dialer_actor dialer = spawn([this]() -> dialer_actor::behavior_type {
    return {[this](dial_atom, const std::string&, std::uint16_t) {
              ++log->dialled;
              return door;
            },
            [](hang_up_atom, const caf::node_id&) {}};
  });
  simulated_actor<actor_state> client{*this};
};

using sequences = std::vector<std::uint64_t>;

shard_log::script broken() {
  return [](const operation_batch&) -> caf::result<wire<outcome_batch>> {
    return make_error(status{status_code::unavailable, "the batch did not arrive"});
  };
}

/// The answer is there only when the test completes its fetch.
shard_log::script late_answer() {
  return [](const operation_batch&) -> caf::result<wire<outcome_batch>> {
    outcome_batch answer;
    answer.outcomes.push_back({.content = large_tensor()});
    return from_elsewhere(std::move(answer));
  };
}

}  // namespace

// V-1
BOOST_FIXTURE_TEST_CASE(what_was_not_acknowledged_is_sent_again_first_and_under_its_number, linked_client) {
  add("first");
  log->scripts.push_back(broken());
  add("second", 2);
  add("third");
  check({"first"});
  advance(std::chrono::seconds{1});
  check({"first", "second", "third"});
  BOOST_REQUIRE(log->messages.size() == 3u);
  BOOST_TEST(message(0).sequences == (sequences{1}), boost::test_tools::per_element());
  BOOST_TEST(message(1).sequences == (sequences{2, 3}), boost::test_tools::per_element());
  BOOST_TEST(message(2).sequences == (sequences{2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(message(0).link == message(1).link);
  BOOST_TEST(message(1).link < message(2).link);
  BOOST_TEST(message(1).client == message(2).client);
  BOOST_TEST(message(2).first_open == 2u);
  BOOST_TEST(log->dialled == 1);  // only the shard's link broke
}

// V-1: a shard that takes its time is no broken link, and it knows whose operations come again.
BOOST_FIXTURE_TEST_CASE(what_takes_long_is_sent_once_while_its_limit_lasts, linked_client) {
  caf::typed_response_promise<wire<outcome_batch>> answer;
  log->scripts.push_back([&](const operation_batch&) -> caf::result<wire<outcome_batch>> {
    answer = log->self->make_response_promise<caf::typed_response_promise<wire<outcome_batch>>>();
    return answer;
  });
  add("long", 1, std::chrono::minutes{10});
  add("short");
  advance(std::chrono::minutes{9});
  check({"short"});
  BOOST_REQUIRE(log->messages.size() == 2u);
  BOOST_TEST(message(0).client != 0u);
  BOOST_TEST(message(0).client == message(1).client);
  log->scripts.push_back([&](const operation_batch& last) -> caf::result<wire<outcome_batch>> {
    answer.deliver(fine(last));
    return fine(last);
  });
  add("last");
  check({"short", "long", "last"});
}

// V-1
BOOST_FIXTURE_TEST_CASE(a_batch_says_which_numbers_are_still_open, linked_client) {
  log->scripts.push_back(late_answer());
  add("first");
  add("second");
  add("third");
  check({"second", "third"});
  for (const auto& each : log->messages) BOOST_TEST(each.first_open == 1u);
  transport->complete(0);
  run();
  add("fourth");
  BOOST_TEST(log->messages.back().first_open == 4u);
}

// V-1
BOOST_FIXTURE_TEST_CASE(an_answer_that_cannot_be_fetched_breaks_the_link_and_is_asked_for_again, linked_client) {
  log->scripts.push_back(late_answer());
  add("first");
  transport->fail(0, {status_code::unavailable, "too many connections"});
  run();
  check({});
  advance(std::chrono::seconds{1});
  check({"first"});
  BOOST_TEST(message(1).sequences == (sequences{1}), boost::test_tools::per_element());
  BOOST_TEST(message(0).link < message(1).link);
}

namespace {

struct patient_client : linked_client {
  patient_client() : linked_client({.requests_max = 2}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(operations_beyond_the_open_requests_wait_and_go_in_their_order, patient_client) {
  log->scripts = {broken(), broken()};
  add("first");
  add("second");
  add("third");
  add("fourth");
  check({});
  advance(std::chrono::seconds{1});
  check({"first", "second", "third", "fourth"});
  std::uint64_t last = 0;
  for (const auto& each : log->messages) {
    BOOST_TEST(each.sequences.front() <= last + 1);
    last = each.sequences.back();
  }
  add("fifth");
  BOOST_TEST(ended.back() == "fifth");
}

BOOST_FIXTURE_TEST_CASE(operations_that_wait_for_a_place_are_sent_as_soon_as_a_request_has_been_answered,
                        patient_client) {
  std::vector<caf::typed_response_promise<wire<outcome_batch>>> held;
  const auto hold = [&](const operation_batch&) -> caf::result<wire<outcome_batch>> {
    return held.emplace_back(log->self->make_response_promise<caf::typed_response_promise<wire<outcome_batch>>>());
  };
  const auto answer_held = [&](std::size_t which) {
    log->scripts.push_back([&held, which](const operation_batch& other) -> caf::result<wire<outcome_batch>> {
      held.at(which).deliver(wire<outcome_batch>{outcome_batch{{}, std::vector<operation_outcome>(1)}});
      return fine(other);
    });
    caf::anon_send(shard, operate_atom_v, client_id{0}, link_number{0}, wire<operation_batch>{operation_batch{}});
    run();
  };
  add("before");
  log->scripts = {hold, hold};
  add("first");
  add("second");
  add("third");
  add("fourth");
  check({"before"});
  answer_held(0);
  check({"before", "first", "third", "fourth"});
  answer_held(1);
  check({"before", "first", "third", "fourth", "second"});
}

// V-1
BOOST_FIXTURE_TEST_CASE(what_waits_for_a_place_when_its_link_breaks_stays_behind_what_was_sent, patient_client) {
  add("before");
  caf::typed_response_promise<wire<outcome_batch>> held;
  const auto hold = [&](const operation_batch&) -> caf::result<wire<outcome_batch>> {
    held = log->self->make_response_promise<caf::typed_response_promise<wire<outcome_batch>>>();
    return held;
  };
  log->scripts = {hold, hold, [&](const operation_batch& other) -> caf::result<wire<outcome_batch>> {
                    held.deliver(make_error(status{status_code::unavailable, "the batch did not arrive"}));
                    return fine(other);
                  }};
  add("first");
  add("second");
  add("third");
  caf::anon_send(shard, operate_atom_v, client_id{0}, link_number{0}, wire<operation_batch>{operation_batch{}});
  advance(std::chrono::seconds{1});
  check({"before", "first", "second", "third"});
  BOOST_TEST(log->messages.back().sequences == (sequences{2, 3, 4}), boost::test_tools::per_element());
}

namespace {

/// Holds so many bytes, or asks for so many.
shard_request writes(std::int64_t mebibytes) {
  const shape extents{mebibytes << 18};
  return {only_shard, {.kind = operation_kind::assign, .operand = tensor::uninitialised(dtype::float32, extents)}};
}
shard_request reads(std::size_t mebibytes) { return {only_shard, {.kind = operation_kind::read}, mebibytes << 20}; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(operations_that_are_large_or_answered_by_much_do_not_share_a_message, linked_client) {
  add_all("written", {writes(20), writes(20), writes(1), writes(100), writes(1), writes(1)});
  add_all("read", {reads(1), reads(2), reads(31), reads(31), reads(160), reads(160), reads(0)});
  check({"written", "read"});
  const std::vector<sequences> expected{{1}, {2, 3}, {4}, {5, 6}, {7, 8}, {9}, {10}, {11}, {12}, {13}};
  BOOST_REQUIRE(log->messages.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    BOOST_TEST(message(i).sequences == expected[i], boost::test_tools::per_element());
  for (const auto& each : log->messages) BOOST_TEST(each.link == message(0).link);
}

BOOST_FIXTURE_TEST_CASE(what_the_shard_can_never_read_ends_with_its_reason_and_breaks_no_link, linked_client) {
  log->scripts.push_back([](const operation_batch&) -> caf::result<wire<outcome_batch>> {
    return wire<outcome_batch>{
        outcome_batch{.refused = {status_code::resource_exhausted, "over the limit"}, .outcomes = {}}};
  });
  add("first");
  check({"first: resource_exhausted: over the limit"});
  add("second");
  BOOST_TEST(ended.back() == "second");
  BOOST_TEST(log->found == 1);
}

BOOST_FIXTURE_TEST_CASE(an_answer_that_can_never_be_read_ends_with_its_reason_and_breaks_no_link, linked_client) {
  log->scripts.push_back([](const operation_batch&) -> caf::result<wire<outcome_batch>> {
    outcome_batch answer;
    answer.outcomes.push_back({.content = large_tensor()});
    const auto frame = frame_of(wire<outcome_batch>{std::move(answer)});
    const auto before = value_bytes_max();
    set_value_bytes_max(1000);
    auto arrived = arrival_of<outcome_batch>(frame);
    set_value_bytes_max(before);
    return arrived;
  });
  add("first");
  BOOST_REQUIRE(ended.size() == 1u);
  BOOST_TEST(ended[0].find("value_bytes_max") != std::string::npos);
  add("second");
  BOOST_TEST(ended.back() == "second");
  BOOST_TEST(log->found == 1);
}

// C-3
BOOST_FIXTURE_TEST_CASE(a_new_session_sends_nothing_of_the_one_before_and_uses_the_same_link, linked_client) {
  client.act([&] { client->operations->begin_session(5); });
  add("first");
  log->scripts.push_back(broken());
  add("sent");
  add("waiting");
  client.act([&] { client->operations->begin_session(6); });
  const auto over = ": " + session_over.render();
  check({"first", "sent" + over, "waiting" + over});
  add("next");
  advance(std::chrono::seconds{1});
  BOOST_TEST(ended.back() == "next");
  BOOST_TEST(log->dialled == 1);
  BOOST_REQUIRE(log->messages.size() == 3u);
  BOOST_TEST(message(0).session == 5u);
  BOOST_TEST(message(1).session == 5u);
  BOOST_TEST(message(2).session == 6u);
  BOOST_TEST(message(2).sequences.size() == 1u);
}

// C-3
BOOST_FIXTURE_TEST_CASE(a_client_that_is_closed_ends_everything_and_sends_nothing_more, linked_client) {
  log->scripts.push_back(broken());
  add("sent");
  const status over{status_code::cancelled, "enough"};
  client.act([&] { client->operations->close(over); });
  add("later");
  advance(std::chrono::seconds{1});
  check({"sent: cancelled: enough", "later: cancelled: enough"});
  BOOST_TEST(log->messages.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_server_that_was_restarted_is_dialled_and_used_again, linked_client) {
  add("first");
  view(incarnation, member_presence::absent);
  view(incarnation + 1, member_presence::present);
  auto where = only_shard;
  where.incarnation = incarnation + 1;
  add_all("second", {{where, {.kind = operation_kind::read}}});
  check({"first", "second"});
  BOOST_TEST(log->dialled == 2);
  BOOST_TEST(log->messages.size() == 2u);
  BOOST_TEST(log->meant == incarnation + 1);
}

// M-2
BOOST_FIXTURE_TEST_CASE(a_shard_is_searched_on_the_incarnation_that_is_meant, linked_client) {
  add("first");
  BOOST_TEST(log->meant == incarnation);
}

BOOST_FIXTURE_TEST_CASE(operations_on_a_shard_that_was_deleted_fail_as_soon_as_it_is_gone, linked_client) {
  add("first");
  log->deleted = true;
  caf::anon_send_exit(shard, caf::exit_reason::user_shutdown);
  shard = nullptr;
  run();
  add("second", 1, std::chrono::seconds{30});
  advance(std::chrono::milliseconds{100});
  BOOST_REQUIRE(ended.size() == 2u);
  BOOST_TEST(ended[1] == "second: not_found: there is no such shard");
  BOOST_TEST(log->dialled == 1);
}

// The group's own limit, however long, and not that of other operations.
BOOST_FIXTURE_TEST_CASE(what_is_read_may_come_as_late_as_its_operations_limit, linked_client) {
  log->scripts.push_back(late_answer());
  add("first", 1, std::chrono::minutes{10});
  BOOST_REQUIRE(transport->fetches.size() == 1u);
  BOOST_TEST((transport->fetches[0].limit > std::chrono::minutes{9}));
  transport->complete(0);
  run();
  check({"first"});
}

BOOST_FIXTURE_TEST_CASE(an_operation_whose_deadline_passes_says_what_failed_last, linked_client) {
  for (auto i = 0; i < 100; ++i) log->scripts.push_back(broken());
  add("first", 1, std::chrono::seconds{1});
  advance(std::chrono::seconds{2});
  BOOST_REQUIRE(ended.size() == 1u);
  BOOST_TEST(ended[0].find("did not end within 1000 ms") != std::string::npos);
  BOOST_TEST(ended[0].find("the batch did not arrive") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_link_to_a_server_that_is_down_is_dialled_again_until_the_view_says_that_it_is_lost,
                        linked_client) {
  add("first");
  caf::anon_send_exit(server, caf::exit_reason::kill);
  run();
  add("second");
  advance(std::chrono::seconds{5});
  BOOST_TEST(log->dialled > 1);
  check({"first"});
  view(incarnation, member_presence::absent);
  BOOST_REQUIRE(ended.size() == 2u);
  BOOST_TEST(ended[1].find("is lost with the variables it held") != std::string::npos);
  const auto dialled = log->dialled;
  advance(std::chrono::seconds{5});
  BOOST_TEST(log->dialled == dialled);
}

BOOST_FIXTURE_TEST_CASE(another_incarnation_fails_what_was_meant_for_the_one_before_it, linked_client) {
  log->scripts.push_back(late_answer());
  add("first");
  view(incarnation + 1, member_presence::present);
  BOOST_REQUIRE(ended.size() == 1u);
  BOOST_TEST(ended[0].find("was restarted and lost the variables it held") != std::string::npos);
  transport->complete(0);
  run();
  add("second");
  BOOST_REQUIRE(ended.size() == 2u);
  BOOST_TEST(ended[1].find("was restarted") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
