// Who may call which method of a server, by the role in his certificate: real processes, over both layers.
#include "basp_stranger.hpp"
#include "intruder.hpp"
#include "process_cluster.hpp"
#include "support/end_signal.hpp"
#include "support/refusal.hpp"
#include "support/scoped_credentials.hpp"
#include "test_program.hpp"

#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <array>
#include <csignal>
#include <memory>
#include <string>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_permissions_suite)

namespace {

using namespace std::chrono_literals;

const std::array<std::string, 2> layers{"caf", "grpc"};

void serve(const std::string& layer, const std::string& address) {
  const end_signal end;
  auto here = server::create(layer, address);
  auto trained = 0;
  here.register_method("train", [&trained] { return ++trained; });
  here.register_method("look", [&trained] { return trained; });
  here.permit("train", {"evaluator", "worker"});
  here.start();
  say("serving");
  end.wait();
}

void call(const std::string& layer, const std::string& address) {
  const auto there = client::create(layer, address, "caller", 20s);
  const auto trained = there.method<int()>("train").with_timeout(10s)();
  say("train: {}", trained.is_ok() ? std::to_string(trained.get_value()) : trained.get_error().render());
  say("look: {}", there.method<int()>("look").with_timeout(10s).blocking());
}

/// Over "caf", and stays connected.
void call_and_stay(const std::string& address) {
  const end_signal end;
  system_config config{true};
  caf::actor_system system{config};
  const auto there = client::create(system, address, "caller", 20s);
  say("train: {}", there.method<int()>("train").with_timeout(10s).blocking());
  say("node {}", caf::to_string(system.node()));
  end.wait();
}

/// The server is "ps", the others call it, each with the certificate of its job. Arguments: the layer, and "stays".
int run_either(int argc, char** argv) {
  const auto config = tf_config_from_environment();
  if (argc < 3 || !config) return exit_code::usage_error;
  const auto address = to_string(config->cluster.address(server_task(0)));
  try {
    if (config->task.job == "ps")
      serve(argv[2], address);
    else
      argc > 3 ? call_and_stay(address) : call(argv[2], address);
    return exit_code::success;
  } catch (const error& failed) {
    say("failed: {}", failed.what());
    return exit_code::program_failed;
  }
}

const test_program either{"either side of a permitted call", run_either};

}  // namespace

BOOST_DATA_TEST_CASE(a_method_is_called_by_the_roles_that_may_and_by_nobody_else, layers, layer) {
  process_cluster cluster{
      either.name(),
      {.workers = 1, .arguments = {layer}, .certificates = std::make_shared<cluster_certificates>("permitted")}};
  cluster.start(server_task(0));
  cluster.wait_for("serving");
  cluster.start(chief_task);
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0", cluster.output());
  cluster.wait_for(
      "train: permission_denied: \"train\" is for processes of the roles evaluator, worker, and the "
      "caller's is chief");
  cluster.wait_for("look: 0");
  cluster.start(worker_task(0));
  BOOST_TEST(to_string(cluster.end_of(worker_task(0))) == "exit code 0", cluster.output());
  cluster.wait_for("train: 1");
  cluster.signal(server_task(0), SIGTERM);
  BOOST_TEST(to_string(cluster.end_of(server_task(0))) == "exit code 0", cluster.output());
}

/// The node id of the worker is no secret. Over "grpc" there is none.
BOOST_AUTO_TEST_CASE(a_client_that_states_the_identity_of_a_connected_worker_calls_nothing) {
  process_cluster cluster{either.name(),
                          {.workers = 1,
                           .arguments = {"caf", "stays"},
                           .certificates = std::make_shared<cluster_certificates>("permitted")}};
  cluster.start(server_task(0));
  cluster.wait_for("serving");
  cluster.start(worker_task(0));
  cluster.wait_for("train: 1");
  const auto line = cluster.wait_for("node ");
  {
    const scoped_credentials own{cluster.credentials_of("client")};
    hostile::intruder here{{}, basp::node_of(line.substr(line.rfind(' ') + 1))};
    const auto server = to_string(cluster.config(server_task(0)).cluster.address(server_task(0)));
    const auto why = status_of_call([&] {
      const auto there = client::create(here.system(), server, "an intruder", 2s);
      BOOST_TEST_MESSAGE("train: " << there.method<int()>("train").with_timeout(10s).blocking());
    });
    BOOST_TEST(contains(why.render(), "two processes have the same identity"), why.render());
  }
  for (const auto& task : {worker_task(0), server_task(0)}) {
    cluster.signal(task, SIGTERM);
    BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0", cluster.output());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
