// Who may call which method of a server, by the role in his certificate: real processes, over both layers.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <csignal>
#include <memory>
#include <string>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_permissions_suite)

namespace {

using namespace std::chrono_literals;

const std::array<std::string, 2> layers{"caf", "grpc"};

/// Until SIGTERM.
void serve(const std::string& layer, const std::string& address) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto here = server::create(layer, address);
  auto trained = 0;
  here.register_method("train", [&trained] { return ++trained; });
  here.register_method("look", [&trained] { return trained; });
  here.permit("train", {"evaluator", "worker"});
  here.start();
  say("serving");
  auto number = 0;
  ::sigwait(&signals, &number);
}

void call(const std::string& layer, const std::string& address) {
  const auto there = client::create(layer, address, "caller", 20s);
  const auto trained = there.method<int()>("train").with_timeout(10s)();
  say("train: {}", trained.is_ok() ? std::to_string(trained.get_value()) : trained.get_error().render());
  say("look: {}", there.method<int()>("look").with_timeout(10s).blocking());
}

/// The server is "ps", the others call it, each with the certificate of its job. Argument: the layer.
int run_either(int argc, char** argv) {
  const auto config = tf_config_from_environment();
  if (argc < 3 || !config) return exit_code::usage_error;
  const auto address = to_string(config->cluster.address(server_task(0)));
  try {
    config->task.job == "ps" ? serve(argv[2], address) : call(argv[2], address);
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
