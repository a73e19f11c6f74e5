// A group of processes gathers where a fiber asks for it; process_group.hpp.
#include <troupe/runtime/launch/port_reservation.hpp>
#include <troupe/runtime/process_group.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>

#include <chrono>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(process_group_suite)

namespace {

/// What another process of the group has.
struct process {
  system_config config{true};
  caf::actor_system system{config};
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_method_that_waits_for_its_group_lets_other_methods_run) {
  const port_reservation chief{"127.0.0.1"};
  const port_reservation worker{"127.0.0.1"};
  const cluster_spec cluster{
      .chief = {{"127.0.0.1", chief.port()}}, .worker = {{"127.0.0.1", worker.port()}}, .ps = {}};

  process first;
  auto server = rpc::server::create("caf", "127.0.0.1:0", {.threads = 1});
  server.register_method("gather", [&] {
    return process_group{first.system, {cluster, {"chief", 0}}, {.start_limit = 20s}}.size();
  });
  server.register_method("other", [] { return 7; });
  server.start();
  const auto client = rpc::client::create("caf", server.address(), {}, 30s);

  const auto size = client.method<int()>("gather")();
  // While it waits for the worker, which has not begun.
  BOOST_TEST(client.method<int()>("other").blocking() == 7);
  BOOST_TEST(!size.ended());

  process second;
  const process_group group{second.system, {cluster, {"worker", 0}}, {.start_limit = 20s}};
  BOOST_TEST(group.size() == 2);
  BOOST_TEST(size.get_value() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
