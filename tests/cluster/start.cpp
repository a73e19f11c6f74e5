// Clusters that cannot start, or not as they are told: each ends soon, with the exit code that says so and a text that
// names the task, the address and the reason.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(start_suite)

namespace {

using namespace std::chrono_literals;

/// A chief that waits for its members only a little, and members that wait for their chief only a little.
const cluster_options impatient{.members = {.adoption_limit = 2s}, .start_limit = 1500ms};

void run_starts_soon(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  say("the sum is {}", coordinator.schedule([](int a, int b) { return a + b; }, 40, 2).fetch());
}

const chief_program starts_soon{"starts soon", run_starts_soon, impatient};

void run_starts_and_stays(cluster& here) {
  event_watch events{here};
  say("running");
  events.wait_for(event_kind::member_lost, worker_task(0), 60s);
}

const chief_program starts_and_stays{"starts and stays", run_starts_and_stays, impatient};

/// A program that listens at an address and is no troupe.
class stranger {
 public:
  explicit stranger(const task_address& where) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(where.port);
    ::inet_pton(AF_INET, where.host.c_str(), &name.sin_addr);
    const auto on = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    BOOST_REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0);
    BOOST_REQUIRE(::listen(socket_.get(), 16) == 0);
  }

 private:
  descriptor socket_;
};

void require_text(const process_cluster& cluster, const std::string& text) {
  BOOST_TEST(cluster.has(text), "\"" << text << "\" is missing in\n" << cluster.output());
}

void require_end(process_cluster& cluster, const task_id& task, int code) {
  BOOST_TEST(fmt::format("{}: {}", to_string(task), to_string(cluster.end_of(task, 15s))) ==
             fmt::format("{}: exit code {}", to_string(task), code));
}

std::string address_of(const process_cluster& cluster, const task_id& task) {
  return to_string(cluster.config(task).cluster.address(task));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_member_whose_port_is_taken_ends_with_code_4_and_says_which) {
  process_cluster cluster{starts_soon.name()};
  const stranger holds{cluster.config(chief_task).cluster.address(worker_task(0))};
  cluster.start(worker_task(0));
  require_end(cluster, worker_task(0), exit_code::start_failed);
  require_text(cluster, fmt::format("/job:worker/task:0 can't listen on {}", address_of(cluster, worker_task(0))));
  require_text(cluster, "Address already in use; choose another port");
}

BOOST_AUTO_TEST_CASE(a_member_whose_address_is_another_machines_ends_with_code_4_and_says_so) {
  process_cluster cluster{starts_soon.name()};
  // For documentation only (RFC 5737): no machine has it.
  auto elsewhere = cluster.config(worker_task(0));
  elsewhere.cluster.worker[0] = {"192.0.2.1", 40000};
  cluster.start(worker_task(0), {}, elsewhere);
  require_end(cluster, worker_task(0), exit_code::start_failed);
  require_text(
      cluster,
      "/job:worker/task:0 can't listen on 192.0.2.1:40000: cannot listen at \"192.0.2.1\" port 40000: Cannot assign "
      "requested address; expected an address of this machine");
}

BOOST_AUTO_TEST_CASE(a_chief_without_any_worker_ends_with_code_4_and_names_those_that_are_missing) {
  process_cluster cluster{starts_soon.name()};
  cluster.start(server_task(0));
  cluster.start(chief_task);
  require_end(cluster, chief_task, exit_code::start_failed);
  require_text(cluster, "no worker is up; after 1500 ms these members are still missing: ");
  for (int i = 0; i < 2; ++i)
    require_text(cluster, fmt::format("/job:worker/task:{} at {}", i, address_of(cluster, worker_task(i))));
  require_text(cluster, "has not joined yet");
}

BOOST_AUTO_TEST_CASE(a_chief_without_one_of_its_servers_ends_with_code_4) {
  process_cluster cluster{starts_soon.name(), {.servers = 2}};
  for (const auto& task : cluster.tasks())
    if (task != server_task(1)) cluster.start(task);
  require_end(cluster, chief_task, exit_code::start_failed);
  require_text(cluster, "every parameter server must be up");
  require_text(cluster, fmt::format("/job:ps/task:1 at {}", address_of(cluster, server_task(1))));
}

BOOST_AUTO_TEST_CASE(a_cluster_that_lacks_one_of_its_workers_starts_without_it) {
  process_cluster cluster{starts_soon.name()};
  for (const auto& task : cluster.tasks())
    if (task != worker_task(1)) cluster.start(task);
  cluster.wait_for("the sum is 42");
  require_end(cluster, chief_task, exit_code::success);
  const auto absent = fmt::format("/job:worker/task:1 at {}: ", address_of(cluster, worker_task(1)));
  require_text(cluster, "warning: waiting for " + absent);
  require_text(cluster, "warning: beginning without " + absent);
  require_text(cluster, fmt::format("/job:worker/task:0 listens on {} and waits for its chief of {}",
                                    address_of(cluster, worker_task(0)), address_of(cluster, chief_task)));
}

BOOST_AUTO_TEST_CASE(a_line_about_many_absent_members_names_the_first_of_them_and_their_number) {
  process_cluster cluster{starts_soon.name(), {.workers = 8, .servers = 1}};
  for (const auto& task : {chief_task, worker_task(0), server_task(0)}) cluster.start(task);
  cluster.wait_for("the sum is 42");
  require_end(cluster, chief_task, exit_code::success);
  const auto line = cluster.wait_for("warning: beginning without ");
  BOOST_TEST(line.find("/job:worker/task:5 at ") != std::string::npos, line);
  BOOST_TEST(line.find("/job:worker/task:6 at ") == std::string::npos, line);
  BOOST_TEST(line.find("; and 2 more") != std::string::npos, line);
}

BOOST_AUTO_TEST_CASE(members_may_start_long_after_their_chief) {
  process_cluster cluster{starts_and_stays.name(), {.workers = 1}};
  cluster.start(chief_task);
  cluster.pass(500ms);
  cluster.start(worker_task(0));
  cluster.start(server_task(0));
  cluster.wait_for("running");
}

BOOST_AUTO_TEST_CASE(something_else_at_a_workers_address_is_named_and_does_not_hold_up_the_chief) {
  process_cluster cluster{starts_soon.name(), {.workers = 1}};
  const stranger listens{cluster.config(chief_task).cluster.address(worker_task(0))};
  cluster.start(server_task(0));
  cluster.start(chief_task);
  require_end(cluster, chief_task, exit_code::start_failed);
  require_text(cluster, fmt::format("/job:worker/task:0 at {}", address_of(cluster, worker_task(0))));
}

BOOST_AUTO_TEST_CASE(a_member_that_has_another_tf_config_than_its_chief_is_refused_by_name) {
  process_cluster cluster{starts_soon.name()};
  auto exchanged = cluster.config(worker_task(1));
  std::swap(exchanged.cluster.worker[0], exchanged.cluster.worker[1]);
  exchanged.task = worker_task(0);
  cluster.start(server_task(0));
  cluster.start(worker_task(1), {}, exchanged);
  cluster.start(chief_task);
  require_end(cluster, chief_task, exit_code::start_failed);
  require_text(cluster, "the chief expects /job:worker/task:1 at this address, but /job:worker/task:0 answers there");
  require_text(cluster, "TF_CONFIG");
}

BOOST_AUTO_TEST_CASE(a_second_chief_cannot_take_the_members_of_the_first) {
  process_cluster cluster{starts_and_stays.name(), {.workers = 1}};
  cluster.start();
  cluster.wait_for("running");
  child_process second{
      {this_program(), {starts_soon.name()}, {{"TF_CONFIG", to_tf_config(cluster.config(chief_task))}}}};
  const auto ended = second.wait_for(15s);
  BOOST_REQUIRE(ended.has_value());
  BOOST_TEST(to_string(*ended) == "exit code 4");
  std::array<char, 8192> text{};
  const auto size = ::read(second.standard_error().get(), text.data(), text.size());
  const std::string said{text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  BOOST_TEST(said.find("/job:worker/task:0 belongs to another chief") != std::string::npos, said);
  BOOST_TEST(cluster.runs(chief_task));
  BOOST_TEST(cluster.runs(worker_task(0)));
}

BOOST_AUTO_TEST_CASE(a_member_whose_chief_never_comes_ends_with_code_3) {
  process_cluster cluster{starts_soon.name()};
  cluster.start(worker_task(0));
  cluster.start(server_task(0));
  require_end(cluster, worker_task(0), exit_code::chief_lost);
  require_end(cluster, server_task(0), exit_code::chief_lost);
  require_text(cluster, "no chief came within 2000 ms");
}

BOOST_AUTO_TEST_CASE(a_tf_config_that_is_wrong_ends_each_task_with_code_2_before_anything_starts) {
  for (const auto* text :
       {"{", R"({"cluster":{"chief":["127.0.0.1:1"]},"task":{"type":"worker","index":0}})",
        R"({"cluster":{"chief":["127.0.0.1:1"],"worker":["127.0.0.1:2"]},"task":{"type":"boss"}})"}) {
    child_process task{{this_program(), {starts_soon.name()}, {{"TF_CONFIG", text}}}};
    const auto ended = task.wait_for(15s);
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(to_string(*ended) == "exit code 2", text);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
