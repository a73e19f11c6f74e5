// What servers and clients share in a process, and when it ends: the bulk transport, the actor system.
#include "rpc_test.hpp"

#include <troupe/actors/values/bulk.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/cluster/reaper.hpp>
#include <troupe/runtime/rpc/rpc_system.hpp>
#include <troupe/runtime/rpc/rpc_transport.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>

#include <future>
#include <memory>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_lifetimes_suite)

namespace {

const task_address on_this_host{"127.0.0.1", 1};
const task_address on_all_addresses{"0.0.0.0", 1};

// --- the bulk transport ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(clients_share_a_transport_that_the_process_has_as_long_as_they_do) {
  auto first = transport_towards(on_this_host);
  auto second = transport_towards(on_this_host);
  BOOST_TEST((first == second));
  BOOST_TEST((bulk_transport::current() == first));
  first.reset();
  BOOST_TEST((bulk_transport::current() == second));
  const std::weak_ptr<bulk_transport> watched = second;
  second.reset();
  BOOST_TEST(!bulk_transport::current());
  BOOST_TEST(watched.expired());
  BOOST_TEST(transport_towards(on_this_host));
}

BOOST_AUTO_TEST_CASE(servers_and_clients_share_a_transport_whoever_reaches_it) {
  auto narrow = transport_towards(on_this_host);
  const auto wide = transport_at(on_all_addresses);
  BOOST_TEST((wide == narrow));
  BOOST_TEST((transport_towards(on_this_host) == wide));
  // Who goes first takes only its own along.
  narrow.reset();
  BOOST_TEST((bulk_transport::current() == wide));
}

BOOST_AUTO_TEST_CASE(the_transport_of_a_cluster_member_is_used_and_neither_replaced_nor_kept_from_ending) {
  auto of_program = std::make_shared<tcp_bulk>();
  bulk_transport::install(of_program);
  auto used = transport_at(on_all_addresses);
  BOOST_TEST((used == of_program));
  used.reset();
  BOOST_TEST((bulk_transport::current() == of_program));
  of_program.reset();
  BOOST_TEST(!bulk_transport::current());
}

// --- the shared actor system -----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(clients_and_servers_share_a_system_until_the_last_of_them_goes) {
  auto first = shared_system(true);
  auto second = shared_system(true);
  BOOST_TEST(first.get() == second.get());
  BOOST_TEST(shared_system(false).get() != first.get());
  const std::weak_ptr<caf::actor_system> watched = second;
  first.reset();
  BOOST_TEST(!watched.expired());
  second.reset();
  BOOST_TEST(watched.expired());
}

BOOST_AUTO_TEST_CASE(one_of_its_own_actors_may_drop_the_shared_system_last) {
  const auto last = std::make_shared<std::shared_ptr<caf::actor_system>>(shared_system(false));
  const std::weak_ptr<caf::actor_system> watched = *last;
  std::promise<void> dropped;
  {
    const system_scope scope;
    // Detached, as the actors of servers are: the end of the system waits for its thread.
    (*last)->spawn<caf::detached>([last, &dropped] {
      last->reset();
      dropped.set_value();
    });
  }
  BOOST_REQUIRE((dropped.get_future().wait_for(10s) == std::future_status::ready));
  BOOST_TEST(watched.expired());
  BOOST_TEST(reaper::instance().wait_until_idle(10s));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
