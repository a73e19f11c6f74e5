// Whoever can reach a cluster's ports can write to them. What strangers write must neither stop nor disturb a job.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/actors/values/bulk.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <random>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strangers_suite)

namespace {

using namespace std::chrono_literals;

/// The address at which this process offers bulk data, without the secret.
std::string bulk_address() {
  const auto endpoint = bulk_transport::current()->offer(buffer::allocate(1), 1ms).endpoint;
  return endpoint.substr(0, endpoint.find('/'));
}

tensor reversed(tensor content) {
  const auto values = content.mutable_values<std::int32_t>();
  std::reverse(values.begin(), values.end());
  return content;
}

tensor counted(std::int32_t size) {
  auto result = tensor::zeros(dtype::int32, {size});
  std::int32_t next = 0;
  for (auto& x : result.mutable_values<std::int32_t>()) x = next++;
  return result;
}

/// Keeps the control links and the bulk links busy, and checks what comes over them.
void run_works_undisturbed(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  event_watch events{here};
  const auto total = strategy.variable<std::int64_t>("total", 0);
  const auto content = counted(1 << 20);
  for (int worker = 0; worker < 2; ++worker)
    say("bulk {}", coordinator.schedule<bulk_address>({.limit = 20s, .worker = worker}).fetch());
  say("bulk {}", bulk_address());
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    std::vector<remote_value<tensor>> results;
    for (int i = 0; i < 4; ++i) results.push_back(coordinator.schedule<reversed>(content));
    for (int i = 0; i < 200; ++i)
      coordinator.schedule([](troupe::variable<std::int64_t> v) { v.assign_add(1); }, total);
    for (const auto& result : results)
      require(result.get().values<std::int32_t>().front() == (1 << 20) - 1, "each result is whole");
    if (round == 2) say("running");
  }
  coordinator.join(60s);
  require(total.read() == rounds * 200, "each addition once");
  require(events.take_all(event_kind::member_lost, "worker") == 0, "no worker is lost");
  require(events.take_all(event_kind::member_lost, "ps") == 0, "no server is lost");
  say("undisturbed");
}

const chief_program works_undisturbed{"works undisturbed", run_works_undisturbed};

descriptor connect_to(const task_address& where) {
  descriptor file{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(where.port);
  ::inet_pton(AF_INET, where.host.c_str(), &name.sin_addr);
  BOOST_REQUIRE(::connect(file.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0);
  return file;
}

/// What a stranger may write: noise of any length, the beginning of a browser's request, or nothing.
std::string words_of_a_stranger(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return {};
    case 1:
      return "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    default: {
      std::string noise(1 + random() % 5'000, '\0');
      for (auto& byte : noise) byte = static_cast<char>(random());
      return noise;
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(noise_at_the_ports_of_all_members_does_not_disturb_a_job) {
  process_cluster cluster{works_undisturbed.name()};
  cluster.start();
  std::vector<task_address> ports;
  for (const auto& task : cluster.tasks())
    if (task != chief_task) ports.push_back(cluster.config(task).cluster.address(task));
  for (int i = 0; i < 3; ++i) {
    const auto line = cluster.wait_for("bulk ");
    ports.push_back(task_address::parse(line.substr(line.find("bulk ") + 5)));
  }
  cluster.wait_for("running");
  std::mt19937 random{20240607};
  std::vector<descriptor> left_open;
  for (int i = 0; i < 200; ++i) {
    auto file = connect_to(ports[random() % ports.size()]);
    const auto words = words_of_a_stranger(random);
    // A member may close the connection in the middle: that is its right.
    const auto sent = ::send(file.get(), words.data(), words.size(), MSG_NOSIGNAL);
    BOOST_TEST(sent <= static_cast<ssize_t>(words.size()));
    if (random() % 2 == 0) left_open.push_back(std::move(file));
  }
  cluster.wait_for("undisturbed");
  for (const auto& task : cluster.tasks()) BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
