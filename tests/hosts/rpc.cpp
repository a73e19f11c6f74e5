// Remote procedure calls from one host to another, over both layers, by address and by name, to servers that listen on
// their own address or on all of them, and to one behind a translation of addresses.
#include "cluster/test_program.hpp"
#include "host_sockets.hpp"
#include "placement.hpp"

#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <csignal>
#include <utility>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_suite)

namespace {

using namespace std::chrono_literals;

const std::array<std::string, 2> layers{"caf", "grpc"};

tensor numbered(std::int64_t elements) {
  auto result = tensor::zeros(dtype::int32, {elements});
  std::int32_t next = 0;
  for (auto& x : result.mutable_values<std::int32_t>()) x = next++;
  return result;
}

/// Until SIGTERM.
int serve(const std::string& layer, const std::string& address) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto own = credentials::from_environment();
  own.insecure = layer == "grpc";
  credentials::set_for_process(std::move(own));
  auto here = server::create(layer, address);
  here.register_method("echo", [](const tensor& content) { return content; });
  here.start();
  say("serving");
  auto number = 0;
  ::sigwait(&signals, &number);
  return exit_code::success;
}

int call(const std::string& layer, const std::string& address) {
  const auto there = client::create(layer, address, "caller", 20s);
  const auto echo = there.method<tensor(tensor)>("echo").with_timeout(10s);
  for (const std::int64_t elements : {1, 1'000, 256 * 1024, 1, 256 * 1024}) {
    const auto content = numbered(elements);
    require(echo.blocking(content).bitwise_equal(content), "an echo");
    say("echoed {} bytes", content.size_bytes());
  }
  say("all echoed");
  return exit_code::success;
}

/// Arguments: the layer, and, if not at its address in TF_CONFIG, where the server listens and where clients call it.
int run_either(int argc, char** argv) {
  const auto config = tf_config_from_environment();
  if (argc < 3 || !config) return exit_code::usage_error;
  const auto& address = config->cluster.address(server_task(0));
  try {
    if (config->task.job != "ps")
      return call(argv[2], argc > 4 ? fmt::format("{}:{}", argv[4], address.port) : to_string(address));
    return serve(argv[2], argc > 3 ? fmt::format("{}:{}", argv[3], address.port) : to_string(address));
  } catch (const error& failed) {
    say("failed: {}", failed.what());
    return exit_code::program_failed;
  }
}

const test_program either{"either side of a call", run_either};

void call_over(const host_network& network, called how, std::vector<std::string> arguments) {
  const auto place = placed(network, {{chief_task, 0}, {server_task(0), 0}, {worker_task(0), 1}}, how);
  process_cluster cluster{either.name(), {.workers = 1, .arguments = std::move(arguments), .place = place}};
  cluster.start(server_task(0));
  cluster.wait_for("serving");
  cluster.start(worker_task(0));
  BOOST_TEST(to_string(cluster.end_of(worker_task(0))) == "exit code 0", cluster.output());
  BOOST_TEST(cluster.has("all echoed"), cluster.output());
  cluster.signal(server_task(0), SIGTERM);
  BOOST_TEST(to_string(cluster.end_of(server_task(0))) == "exit code 0", cluster.output());
}

}  // namespace

BOOST_DATA_TEST_CASE(a_client_calls_a_server_on_another_host, layers* boost::unit_test::data::make(callings), layer,
                     how) {
  const host_network network{2, how.names};
  call_over(network, how.how, {layer});
}

BOOST_DATA_TEST_CASE(a_server_that_listens_on_all_addresses_is_called_by_whatever_name_it_has,
                     layers* boost::unit_test::data::make(callings), layer, how) {
  const host_network network{2, how.names};
  call_over(network, how.how, {layer, "0.0.0.0"});
}

BOOST_DATA_TEST_CASE(a_server_is_called_through_a_translation_of_addresses, layers, layer) {
  host_network network{2};
  if (!translates(network, 1, 0)) return;
  call_over(network, called::by_address, {layer, "0.0.0.0", host_network::outer_address(0)});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
