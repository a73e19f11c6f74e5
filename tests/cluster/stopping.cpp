// SIGTERM and SIGINT as an orderly end of each role.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <optional>

namespace troupe {

BOOST_AUTO_TEST_SUITE(stopping_suite)

namespace {

using namespace std::chrono_literals;

std::optional<variable<std::int64_t>> sum;
std::atomic<bool> computes{true};

/// Waits for what never comes, or computes, as its argument says.
void never_ending(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  sum = strategy.variable("sum", std::int64_t{41});
  coordinator
      .schedule(
          {.worker = 0}, [](variable<std::int64_t> x) { x.assign_add(1); }, *sum)
      .fetch();
  const auto slow = coordinator.schedule({.worker = 1}, [] { sleep_for(1h); });
  say("works");
  if (here.arguments().back() == "computes")
    while (computes) {
    }
  slow.fetch();
}

void last_act(cluster&) {
  say("last act: {}", sum->read());
  sum.reset();
  computes = false;
}

void on_member(member& here) {
  here.at_stop([task = here.task()] { say("{} stops", to_string(task)); });
}

const test_program never_ending_program{
    "never ending", [](int argc, char** argv) {
      return run(argc, argv, {.program = never_ending, .on_member = on_member, .on_stop = last_act, .stop_grace = 5s});
    }};

struct working_cluster : process_cluster {
  explicit working_cluster(const std::string& how)
      : process_cluster{never_ending_program.name(), {.arguments = {how}}} {
    start();
    wait_for("works");
  }
};

void require_last_act(process_cluster& cluster, int signal, const std::vector<task_id>& retired) {
  cluster.wait_for("last act: 42");
  BOOST_TEST(cluster.end_of(chief_task).shell_code() == 128 + signal);
  for (const auto& task : retired) {
    cluster.wait_for(to_string(task) + " stops");
    BOOST_TEST(cluster.end_of(task).success(), to_string(task));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_program_that_waits_is_interrupted_and_its_last_act_uses_the_cluster) {
  for (const auto signal : {SIGTERM, SIGINT}) {
    working_cluster cluster{"waits"};
    const stopwatch watch;
    cluster.signal(chief_task, signal);
    require_last_act(cluster, signal, {worker_task(0), worker_task(1), server_task(0)});
    BOOST_TEST(watch.elapsed().count() < 2500);
  }
}

BOOST_AUTO_TEST_CASE(the_last_act_of_a_program_that_computes_comes_after_half_of_the_grace_time) {
  working_cluster cluster{"computes"};
  const stopwatch watch;
  cluster.signal(chief_task, SIGTERM);
  require_last_act(cluster, SIGTERM, {worker_task(0), worker_task(1), server_task(0)});
  BOOST_TEST(watch.elapsed().count() >= 2400);
  BOOST_TEST(watch.elapsed().count() < 5000);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_told_to_end_serves_the_last_act_of_the_chief) {
  working_cluster cluster{"waits"};
  cluster.signal(server_task(0), SIGTERM);
  cluster.wait_for("SIGTERM: ending within 5000 ms");
  cluster.signal(chief_task, SIGTERM);
  require_last_act(cluster, SIGTERM, {worker_task(0), worker_task(1)});
  BOOST_TEST(cluster.end_of(server_task(0)).shell_code() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_told_to_end_says_so_to_the_chief_and_does_what_is_to_be_done) {
  working_cluster cluster{"waits"};
  cluster.signal(worker_task(1), SIGTERM);
  cluster.wait_for("/job:worker/task:1 is lost; caused by cancelled: this process was told to end by SIGTERM");
  cluster.wait_for("/job:worker/task:1 stops");
  BOOST_TEST(cluster.end_of(worker_task(1)).shell_code() == 128 + SIGTERM);
  cluster.signal(chief_task, SIGTERM);
  require_last_act(cluster, SIGTERM, {worker_task(0), server_task(0)});
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_at_once) {
  working_cluster cluster{"computes"};
  cluster.signal(chief_task, SIGTERM);
  cluster.wait_for("a second signal ends at once");
  cluster.signal(chief_task, SIGINT);
  cluster.wait_for("the process ends now: a second signal");
  BOOST_TEST(cluster.end_of(chief_task).shell_code() == 128 + SIGINT);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
