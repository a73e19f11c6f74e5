// Jobs in containers, whose processes must not be taken for each other: each process is number 1 of a namespace of
// process numbers of its own, and MAC addresses are the same in all containers of a network, or on all machines.
#include "cluster/test_program.hpp"
#include "host_sockets.hpp"
#include "placement.hpp"
#include "support/security_mode.hpp"
#include "support/temporary_file.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(containers_suite)

namespace {

/// How a process of a container finds its credentials. The tasks of a process_cluster have a secret unless they have
/// certificates; its file is one of this process, which they do not see by its number in theirs.
std::vector<std::string> environment_in_containers(security_mode mode, const temporary_file& secret) {
  switch (mode) {
    case security_mode::none:
      return {"env", fmt::format("--unset={}", secret_variable), fmt::format("{}=1", insecure_variable)};
    case security_mode::secret:
      return {"env", fmt::format("{}={}", secret_variable, secret.path())};
    case security_mode::tls:
      break;
  }
  return {};
}

/// Each task runs where it did, with this before it, as process 1 of a namespace of its own.
placement in_containers(placement machines, std::vector<std::string> environment) {
  return [machines = std::move(machines), environment = std::move(environment)](const task_id& task) {
    auto place = machines(task);
    place.launcher.insert(place.launcher.end(), environment.begin(), environment.end());
    place.launcher.insert(place.launcher.end(), {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"});
    return place;
  };
}

/// Host 0 becomes a router between all others, each of which then has one interface, with the same MAC address: the one
/// that Docker gives to the first container of each machine.
void route_between_equal_mac_addresses(const host_network& network, int hosts) {
  constexpr const char* of_router = R"(
ip link add name to{host} type veth peer name routed netns {pid}
ip link set dev to{host} up
ip route add {address}/32 dev to{host}
echo 1 >/proc/sys/net/ipv4/ip_forward)";
  constexpr const char* of_host = R"(
ip link delete dev uplink
ip link set dev routed address 02:42:ac:11:00:02
ip address add {address}/32 dev routed
ip link set dev routed up
ip route add {router} dev routed
ip route add default via {router})";
  for (int host = 1; host < hosts; ++host) {
    const auto address = host_network::address(host);
    // "nsenter --target PID ..."
    run_on_host(network, 0,
                fmt::format(fmt::runtime(of_router), fmt::arg("host", host),
                            fmt::arg("pid", network.launcher(host).at(2)), fmt::arg("address", address)));
    run_on_host(
        network, host,
        fmt::format(fmt::runtime(of_host), fmt::arg("address", address), fmt::arg("router", host_network::address(0))));
  }
}

void run_in_containers(const host_network& network, security_mode mode, std::map<task_id, int> host_of) {
  const temporary_file secret{"the secret of a job in containers"};
  process_cluster cluster{
      "job",
      {.servers = 1,
       .place = in_containers(placed(network, std::move(host_of)), environment_in_containers(mode, secret)),
       .certificates = mode == security_mode::tls ? std::make_shared<cluster_certificates>("contained") : nullptr}};
  cluster.start();
  cluster.wait_for("all done");
  require_good_ends(cluster);
}

}  // namespace

/// As the containers of one pod have, and those with the network of their machine.
BOOST_DATA_TEST_CASE(a_job_runs_in_containers_that_share_a_network, security_modes, mode) {
  const host_network network{1};
  run_in_containers(network, mode, {{chief_task, 0}, {server_task(0), 0}, {worker_task(0), 0}, {worker_task(1), 0}});
}

BOOST_DATA_TEST_CASE(a_job_runs_in_containers_of_machines_that_give_them_the_same_mac_address, security_modes, mode) {
  constexpr int hosts = 5;
  const host_network network{hosts};
  route_between_equal_mac_addresses(network, hosts);
  run_in_containers(network, mode, {{chief_task, 1}, {server_task(0), 2}, {worker_task(0), 3}, {worker_task(1), 4}});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
