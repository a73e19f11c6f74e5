// What containers bring about. Processes that share a host's network but not its process numbers can't share memory,
// find that out by themselves, and work together over TCP. A server's own name may mean nothing to its clients.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/strategy_extended.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(containers_suite)

namespace {

using namespace std::chrono_literals;

/// How a child that does this ends.
template <class Work>
int in_child(Work work) {
  const auto child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(work());
  }
  auto how = 0;
  ::waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 1;
}

boost::test_tools::assertion_result namespaces_can_be_made(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer{in_child([] { return ::unshare(CLONE_NEWPID) == 0 ? 0 : 1; }) == 0};
  answer.message() << "skipped: making a namespace of process numbers needs CAP_SYS_ADMIN";
  return answer;
}

void compute(process_group& group) {
  const multi_worker_mirrored_strategy strategy{group};
  say("by {}", strategy.extended().communicator_description());
  const auto sum =
      strategy.run([] { return replica_context::current().all_reduce(reduce_op::sum, tensor::full({100'000}, 1.0f)); });
  say("sum {}", sum[0].values<float>().back());
}

/// The worker is the first process of a namespace of its own.
int run_apart(int argc, char** argv, const process_group_options& options) {
  const auto run = [&] { return run_group(argc, argv, compute, options); };
  if (tf_config_from_environment()->task.job == "chief") return run();
  require(::unshare(CLONE_NEWPID) == 0, "a namespace of process numbers can't be made");
  return in_child(run);
}

const test_program apart{"apart", [](int argc, char** argv) { return run_apart(argc, argv, {}); }};
const test_program apart_with_shared_memory{"apart_with_shared_memory", [](int argc, char** argv) {
                                              return run_apart(argc, argv,
                                                               {.transport = process_transport_choice::shared_memory});
                                            }};

// --- servers --------------------------------------------------------------------------------------------------------

constexpr std::string_view unknown_name = "nowhere.invalid";

/// A server on all addresses of a machine whose name nobody knows.
int serve_under_an_unknown_name(int, char**) {
  require(::unshare(CLONE_NEWUTS) == 0 && ::sethostname(unknown_name.data(), unknown_name.size()) == 0,
          "the machine's name can't be changed");
  credentials::set_for_process({.cluster = "", .secret = nullptr, .insecure = true});
  auto server = rpc::server::create("caf", "0.0.0.0:0");
  server.register_method("ones", [](std::int64_t count) { return tensor::full(shape{count}, 1.0f); });
  server.start();
  say("port {}", server.port());
  while (true) ::pause();  // until it is killed
}

const test_program unknown_server{"unknown_server", serve_under_an_unknown_name};

}  // namespace

BOOST_AUTO_TEST_CASE(large_results_of_a_server_come_from_the_address_that_was_dialled,
                     *boost::unit_test::precondition(namespaces_can_be_made)) {
  process_cluster processes{unknown_server.name(), {.workers = 0, .servers = 0}};
  processes.start();
  const auto line = processes.wait_for("port ");
  const auto port = line.substr(line.rfind(' ') + 1);
  const auto client = rpc::client::create("caf", "127.0.0.1:" + port, {}, 20s);
  const auto ones = client.method<tensor(std::int64_t)>("ones").blocking(1'000'000);
  BOOST_TEST(ones.element_count() == 1'000'000);
  BOOST_TEST(ones.values<float>().back() == 1.0f);
}

BOOST_AUTO_TEST_CASE(processes_without_common_process_numbers_work_together_over_tcp,
                     *boost::unit_test::precondition(namespaces_can_be_made)) {
  process_cluster cluster{apart.name(), {.workers = 1, .servers = 0}};
  cluster.start();
  for (const auto* task : {"[chief]", "[worker 0]"}) {
    cluster.wait_for(
        fmt::format("{} by 1 replica on CPU:0; between processes TCP, 2 ranks on 2 hosts (they "
                    "are in different namespaces of process numbers, as containers are)",
                    task));
    cluster.wait_for(fmt::format("{} sum 2", task));
  }
  for (const auto& task : cluster.tasks()) BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0");
}

BOOST_AUTO_TEST_CASE(shared_memory_that_was_asked_for_and_cannot_be_is_an_error_that_says_why,
                     *boost::unit_test::precondition(namespaces_can_be_made)) {
  process_cluster cluster{apart_with_shared_memory.name(), {.workers = 1, .servers = 0}};
  cluster.start();
  for (const auto& task : cluster.tasks()) BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 4");
  BOOST_TEST(cluster.has("shared memory was asked for, but the 2 processes can't share any: they are in different "
                         "namespaces of process numbers"),
             cluster.output());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
