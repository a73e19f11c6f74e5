// Who may send what from another process: the whole table, as semantics has it. A message that is missing here is meant
// for the own process only.
#include <troupe/actors/messages/link_rules.hpp>
#include <troupe/actors/messages/message_types.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <fmt/format.h>

#include <string>

BOOST_AUTO_TEST_SUITE(link_rules_suite)

using namespace troupe;

namespace {

struct world {
  world() { add_troupe_types(config); }
  caf::actor_system_config config;
  caf::actor_system system{config};
};

std::string sizes(std::size_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

/// The rows of all receivers.
std::string table_of(const caf::actor_system& system) {
  std::string result;
  for (const auto& each : link_receivers(system)) {
    result += fmt::format("{}\n", each.name);
    for (const auto& rule : each.rules)
      result += fmt::format("  {} {} from {}, {}\n", caf::to_string(rule.what), rule.types.substr(4),
                            to_string(rule.from), sizes(rule.bytes_max));
  }
  return result;
}

constexpr auto expected = R"(the door of a member
  find @atom+@str+@i64 from anybody, 1 MiB
  waits @atom from anybody, 1 MiB
  why @atom+@i64 from anybody, 1 MiB
  adopt @atom+troupe.membership+troupe.adoption from a process that is a chief, 16 MiB
  worker @atom from its chief, or any chief while it has none, 1 MiB
  server @atom from anybody, 1 MiB
  alive @atom+@u64 from anybody, 1 MiB
  view @atom+troupe.cluster_view from its chief, 16 MiB
  retire @atom+troupe.status from its chief, 1 MiB
  dismiss @atom+troupe.status from its chief, 1 MiB
the directory of a member
  presence @atom+@strong_actor_ptr+troupe.member_record from its chief, 1 MiB
the membership of a chief
  find @atom+@str+@i64 from anybody, 1 MiB
  follow @atom+troupe.presence_listener+troupe.tasks from anybody, 16 MiB
  why @atom+@i64 from anybody, 1 MiB
  view @atom from anybody, 1 MiB
  leave @atom+troupe.departure from anybody, 1 MiB
  watch @atom+troupe.tasks+@i64 from anybody, 16 MiB
who stands in for a chief
  find @atom+@str+@i64 from anybody, 1 MiB
  follow @atom+troupe.presence_listener+troupe.tasks from anybody, 16 MiB
a listener for members
  presence @atom+@strong_actor_ptr+troupe.member_record from anybody, 1 MiB
a finder of actors
  find @atom+@str+@i64 from anybody, 1 MiB
a teller of waits
  why @atom+@i64 from anybody, 1 MiB
an event bus
  listen @atom+troupe.event_listener from anybody, 1 MiB
  event @atom+troupe.event from its chief, 16 MiB
a listener for events
  event @atom+troupe.event from anybody, 16 MiB
an actor that answers pings
  alive @atom+@u64 from anybody, 1 MiB
a process of a group
  alive @atom+@u64 from anybody, 1 MiB
  waits @atom from anybody, 1 MiB
  broken @atom+@u64+troupe.status from anybody, 1 MiB
the host of a group
  why @atom+@i64 from anybody, 1 MiB
  gather @atom+troupe.participant+troupe.group_candidate from anybody, 1 MiB
  broken @atom+@u64+troupe.status from anybody, 1 MiB
  set @atom+@u64+@str+@str from anybody, 16 MiB
  fetch @atom+@u64+@str from anybody, 1 MiB
a dialer
a listener for losses
a failure detector
a worker
  admit @atom+troupe.outcome_sink+troupe.session_terms from its chief, 1 MiB
  dismiss @atom+@u64 from its chief, 1 MiB
  run @atom+@u64+@u64+@u64+troupe.run_orders from its chief, 449 MiB
  cancel @atom+@u64+troupe.cancel_orders from its chief, 16 MiB
  activity @atom+@u64+@u64 from its chief, 1 MiB
the desk of a worker
  recall @atom+@u64+troupe.order_recall from its chief, 16 MiB
a coordinator
  outcome @atom+@u64+@u64+troupe.run_outcomes from anybody, 449 MiB
a taker of outcomes
  outcome @atom+@u64+@u64+troupe.run_outcomes from anybody, 449 MiB
the chief's desk for closures of members
  submit @atom+@u64+troupe.closure_submission from anybody, 449 MiB
  cancel @atom+@u64 from anybody, 1 MiB
  activity @atom+@u64+@i64 from anybody, 1 MiB
a member's courier of closures
an owner of closures
a shard of a variable
  operate @atom+@u64+@u64+troupe.operation_batch from anybody, 449 MiB
a parameter server
  create @atom+@u64+troupe.shard_orders from its chief, 449 MiB
  release @atom+@u64+troupe.shard_numbers from its chief, 16 MiB
  find @atom+@u64+@u64 from anybody, 1 MiB
  dismiss @atom+@u64+troupe.session_fence from its chief, 16 MiB
  alive @atom+@u64 from anybody, 1 MiB
a client of variables
the door of an RPC server
  alive @atom+@u64 from anybody, 1 MiB
  admit @atom+troupe.rpc.connection+troupe.rpc.reply_sink+troupe.rpc.client_hello from anybody, 1 MiB
  dismiss @atom+@u64 from anybody, 1 MiB
an executor of an RPC server
  run @atom+@u64+@u64+troupe.rpc.call_orders from anybody, 449 MiB
  cancel @atom+troupe.rpc.call_cancellations from anybody, 16 MiB
a connection to an RPC server
  alive @atom+@u64 from anybody, 1 MiB
  dismiss @atom+@u64 from anybody, 1 MiB
a taker of answers
  outcome @atom+@u64+troupe.rpc.call_replies from anybody, 449 MiB
a dialer of RPC servers
a replica
a merge barrier
)";

}  // namespace

BOOST_FIXTURE_TEST_CASE(each_row_is_as_it_was_meant, world) { BOOST_TEST(table_of(system) == expected); }

// Two interfaces that look alike would have the rules of the first.
BOOST_FIXTURE_TEST_CASE(each_interface_has_rules_of_its_own, world) {
  for (const auto& each : link_receivers(system))
    BOOST_TEST(find_link_receiver(system, each.interface) == &each, each.name);
}

BOOST_FIXTURE_TEST_CASE(an_actor_that_is_none_of_them_is_the_applications, world) {
  auto extended = link_receivers(system).front().interface;
  extended.insert("caf::replies_to<'ask'>::with<@u64>");
  BOOST_TEST(find_link_receiver(system, extended) == nullptr);
  BOOST_TEST(find_link_receiver(system, {}) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
