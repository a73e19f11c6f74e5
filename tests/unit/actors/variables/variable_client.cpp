// How operations of many fibers share messages.
#include "support/simulated_world.hpp"

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/variables/client.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <optional>
#include <vector>

BOOST_AUTO_TEST_SUITE(variable_client_suite)

namespace {

using namespace troupe;

constexpr std::uint64_t incarnation = 7;
constexpr shard_address only_shard{.server = 0, .incarnation = incarnation, .shard = 1};

/// How many operations each message to the shard has held.
using batch_sizes = std::vector<std::size_t>;

shard_actor::behavior_type counting_shard(std::shared_ptr<batch_sizes> sizes) {
  return {[sizes](operate_atom, wire<operation_batch>& batch) {
    sizes->push_back(batch->operations.size());
    return wire<outcome_batch>{outcome_batch{std::vector<operation_outcome>(batch->operations.size())}};
  }};
}

parameter_server_actor::behavior_type server_of(const shard_actor& shard) {
  return {[](create_atom, wire<shard_order>&) { return std::uint64_t{1}; },
          [shard](find_atom, std::uint64_t) { return shard; }};
}

member_actor::behavior_type door_of(const parameter_server_actor& server) {
  return {[](adopt_atom, const membership_actor&, wire<adoption>&) { return wire<identity>{identity{}}; },
          [](worker_atom) { return worker_actor{}; },
          [server](server_atom) { return server; },
          [](alive_atom, std::uint64_t number) { return number; },
          [](view_atom, wire<cluster_view>&) {},
          [](retire_atom, wire<status>&) { return caf::ok_atom_v; }};
}

dialer_actor::behavior_type dialer_of(const member_actor& door) {
  return {[door](dial_atom, const std::string&, std::uint16_t) { return door; }};
}

/// An actor whose fibers use variables, as a worker's closures do.
struct client_of_fibers : closure_environment {
  explicit client_of_fibers(caf::event_based_actor* actor) : self(actor), clock(actor) {}

  void begin(const dialer_actor& dialer) {
    fibers.emplace(clock, fiber_host::options{}, this);
    operations.emplace(self, clock, dialer, variable_client_options{}, &*fibers);
    fibers->at_turn_end([this] { operations->flush(); });
    operations->take_view(
        {.epoch = 1, .members = {{.task = {"ps", 0}, .incarnation = incarnation, .state = presence::present}}});
  }
  variable_client& variables() override { return *operations; }
  int worker_index() const override { return 0; }
  client_actor variables_of_replicas() override { return {}; }
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
  simulated_world world;
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

BOOST_AUTO_TEST_SUITE_END()
