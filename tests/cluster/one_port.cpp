// Each process listens on one port, whatever comes by it, and on no other address than it should.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(one_port_suite)

namespace {

using namespace std::chrono_literals;

// --- who listens where ----------------------------------------------------------------------------------------------

/// "socket:[INODE]" for each that this process has open.
std::set<std::string> sockets_of(pid_t process) {
  std::set<std::string> all;
  std::error_code gone;
  for (const auto& each : std::filesystem::directory_iterator{fmt::format("/proc/{}/fd", process), gone})
    if (const auto target = std::filesystem::read_symlink(each.path(), gone).string(); target.starts_with("socket:"))
      all.insert(target);
  return all;
}

/// Addresses of a process's sockets that listen, as the kernel writes them: 0100007F:1F90.
std::vector<std::string> listening(pid_t process) {
  constexpr auto state_of_listeners = "0A";
  const auto own = sockets_of(process);
  std::vector<std::string> found;
  for (const auto* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file{table};
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields{line};
      std::string number, address, peer, state, queues, timer, retransmits, user, timeout, inode;
      fields >> number >> address >> peer >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
      if (state == state_of_listeners && own.contains(fmt::format("socket:[{}]", inode))) found.push_back(address);
    }
  }
  return found;
}

bool is_on_loopback(const std::string& address) { return address.starts_with("0100007F:"); }

std::string last_word(const std::string& line) { return line.substr(line.rfind(' ') + 1); }

// --- programs -------------------------------------------------------------------------------------------------------

tensor ones(std::int64_t count) { return tensor::full(shape{count}, 1.0f); }

constexpr std::int64_t many = 1'000'000;

void move_large_tensors(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto moved = coordinator.schedule([](const tensor& given) { return given; }, ones(many)).fetch();
  const auto large = strategy.variable("large", ones(many));
  say("moved {}", moved.element_count() + large.read().element_count());
  while (true) ::pause();  // until it is killed
}

const chief_program moves{"moves large tensors", move_large_tensors};

void sum_over_tcp(process_group& group) {
  auto x = ones(many);
  const auto connection = group.communicator_of_processes();
  connection->all_reduce(x, reduce_op::sum, 20s);
  say("rank {} has {}", group.rank(), x.values<float>().back());
  while (true) ::pause();  // until it is killed
}

const group_program in_step{"sums over TCP", sum_over_tcp, {.transport = process_transport_choice::tcp}};

int serve_large_results(int, char**) {
  auto server = rpc::server::create("caf", "localhost:0");
  server.register_method("ones", ones);
  server.start();
  say("port {}", server.port());
  while (true) ::pause();  // until it is killed
}

const test_program serves{"serves large results", serve_large_results};

using counter_actor = caf::typed_actor<caf::replies_to<caf::get_atom>::with<int>>;

counter_actor::behavior_type counter(counter_actor::pointer) {
  return {[count = 0](caf::get_atom) mutable { return ++count; }};
}

int publish_counter(int, char**) {
  const system_config config{true};
  caf::actor_system system{config};
  const auto made = system.spawn(counter);
  say("port {}", publish_actor(system, made, 0, 10s));
  while (true) ::pause();  // until it is killed
}

const test_program publishes{"publishes a counter", publish_counter};

}  // namespace

BOOST_AUTO_TEST_CASE(messages_and_large_tensors_of_a_member_come_by_one_port) {
  process_cluster cluster{moves.name(), {.workers = 1, .servers = 1}};
  cluster.start();
  cluster.wait_for(fmt::format("moved {}", 2 * many));
  for (const auto& task : cluster.tasks()) {
    const auto ports = listening(cluster.pid(task));
    BOOST_TEST(ports.size() == 1u, to_string(task) << " listens at " << fmt::format("{}", fmt::join(ports, ", ")));
  }
}

BOOST_AUTO_TEST_CASE(the_ranks_of_a_group_meet_by_one_port_of_each) {
  process_cluster cluster{in_step.name(), {.workers = 2, .servers = 0}};
  cluster.start();
  for (auto rank = 0; rank < 3; ++rank) cluster.wait_for(fmt::format("rank {} has 3", rank));
  for (const auto& task : cluster.tasks()) {
    const auto ports = listening(cluster.pid(task));
    BOOST_TEST(ports.size() == 1u, to_string(task) << " listens at " << fmt::format("{}", fmt::join(ports, ", ")));
  }
}

BOOST_AUTO_TEST_CASE(calls_and_large_results_of_a_server_come_by_one_port) {
  process_cluster processes{serves.name(), {.workers = 0, .servers = 0}};
  processes.start();
  const auto port = last_word(processes.wait_for("port "));
  const auto client = rpc::client::create("caf", "127.0.0.1:" + port, {}, 20s);
  BOOST_TEST(client.method<tensor(std::int64_t)>("ones").blocking(many).element_count() == many);
  const auto ports = listening(processes.pid(chief_task));
  BOOST_TEST(ports.size() == 1u, fmt::format("{}", fmt::join(ports, ", ")));
}

BOOST_AUTO_TEST_CASE(what_a_process_without_a_secret_publishes_is_reached_on_its_machine_only) {
  process_cluster processes{publishes.name(), {.workers = 0, .servers = 0}};
  processes.start();
  const auto port = std::stoi(last_word(processes.wait_for("port ")));
  const auto ports = listening(processes.pid(chief_task));
  BOOST_TEST_REQUIRE(ports.size() == 1u);
  BOOST_TEST(is_on_loopback(ports.front()), ports.front());
  const system_config config{true};
  caf::actor_system system{config};
  const auto found = remote_actor<counter_actor>(system, "127.0.0.1", static_cast<std::uint16_t>(port), 10s);
  BOOST_TEST(ask(found, 10s, caf::get_atom_v) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
