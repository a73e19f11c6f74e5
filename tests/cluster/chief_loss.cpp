// The end of the chief: workers and servers end themselves, soon, with an exit code that says why.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <stdexcept>
#include <thread>

namespace troupe {

BOOST_AUTO_TEST_SUITE(chief_loss_suite)

namespace {

using namespace std::chrono_literals;

/// A closure that does not look up until it is done.
void compute_for(int seconds) {
  say("computing");
  std::this_thread::sleep_for(std::chrono::seconds{seconds});
}

/// A closure that waits in the runtime, and so can be cancelled.
void add_for_ever(const variable<float>& v) {
  while (true) v.assign_add(1.0f);
}

void add_slowly(const variable<std::int64_t>& v) {
  std::this_thread::sleep_for(2ms);
  v.assign_add(1);
}

/// Keeps all members busy until the chief is lost.
void work(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto v = strategy.variable("v", 0.0f);
  for (int i = 0; i < 16; ++i) coordinator.schedule<add_for_ever>(v);
  while (v.read() == 0.0f) {
  }
  say("running");
  coordinator.join();
}

const chief_program busy{"busy", work};
const chief_program busy_and_impatient{"busy and impatient", work, {.chief_silence_max = 1s}};

void run_with_a_long_computation(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  for (int i = 0; i < 2; ++i) coordinator.schedule<compute_for>({.worker = i}, 600);
  coordinator.join();
}

const chief_program with_a_long_computation{"with a long computation", run_with_a_long_computation};

void run_ends_while_closures_run(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto v = strategy.variable("v", 0.0f);
  for (int i = 0; i < 100; ++i) coordinator.schedule<add_for_ever>(v);
  while (v.read() == 0.0f) {
  }
}

const chief_program ends_while_closures_run{"ends while closures run", run_ends_while_closures_run};

void run_through_its_own_freeze(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  event_watch events{here};
  constexpr int additions = 500;
  const auto total = strategy.variable<std::int64_t>("total", 0);
  for (int i = 0; i < additions; ++i) coordinator.schedule<add_slowly>(total);
  say("running");
  coordinator.join(60s);
  require(total.read() == additions, "each addition once");
  require(events.take_all(event_kind::member_lost, "worker") == 0, "no worker is blamed for the chief's freeze");
  require(events.take_all(event_kind::member_lost, "ps") == 0, "no server is blamed for the chief's freeze");
}

const chief_program through_its_own_freeze{"through its own freeze", run_through_its_own_freeze};

void run_throws(cluster&) { throw std::runtime_error{"the data set is empty"}; }

const chief_program throws{"throws", run_throws};

void run_nothing_to_do(cluster&) {}

const chief_program nothing_to_do{"nothing to do", run_nothing_to_do};

/// Each worker and server ends with this code within the limit.
void require_members_end(process_cluster& cluster, int code, std::chrono::milliseconds limit) {
  for (const auto& task : cluster.tasks())
    if (task != chief_task)
      BOOST_TEST(fmt::format("{}: {}", to_string(task), to_string(cluster.end_of(task, limit))) ==
                 fmt::format("{}: exit code {}", to_string(task), code));
}

}  // namespace

BOOST_AUTO_TEST_CASE(when_the_chief_is_killed_all_others_end_with_code_3_at_once) {
  // More than once: what a member does at this moment differs each time.
  for (int i = 0; i < 5; ++i) {
    process_cluster cluster{busy.name(), {.servers = 2}};
    cluster.start();
    cluster.wait_for("running");
    cluster.signal(chief_task, SIGKILL);
    require_members_end(cluster, exit_code::chief_lost, 3s);
    for (const auto* task : {"worker/task:0", "worker/task:1", "ps/task:0", "ps/task:1"})
      BOOST_TEST(cluster.has(fmt::format("/job:{} ends itself: unavailable: the chief is lost", task)),
                 cluster.output());
  }
}

BOOST_AUTO_TEST_CASE(when_the_chief_is_silent_for_longer_than_its_members_bear_they_end_with_code_3) {
  process_cluster cluster{busy_and_impatient.name()};
  cluster.start();
  cluster.wait_for("running");
  const stopwatch watch;
  cluster.signal(chief_task, SIGSTOP);
  require_members_end(cluster, exit_code::chief_lost, 10s);
  BOOST_TEST(watch.elapsed().count() > 900);
  BOOST_TEST(cluster.has("nothing was heard of it for 1000 ms"), cluster.output());
}

BOOST_AUTO_TEST_CASE(when_the_chief_is_frozen_for_less_than_its_members_bear_the_job_goes_on) {
  process_cluster cluster{through_its_own_freeze.name()};
  cluster.start();
  cluster.wait_for("running");
  cluster.signal(chief_task, SIGSTOP);
  cluster.pass(3s);
  cluster.signal(chief_task, SIGCONT);
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0", cluster.output());
  require_members_end(cluster, exit_code::success, 10s);
}

BOOST_AUTO_TEST_CASE(a_worker_in_the_middle_of_a_long_computation_ends_soon_after_its_chief) {
  process_cluster cluster{with_a_long_computation.name()};
  cluster.start();
  cluster.wait_for("computing");
  cluster.wait_for("computing");
  cluster.signal(chief_task, SIGKILL);
  require_members_end(cluster, exit_code::chief_lost, 15s);
}

BOOST_AUTO_TEST_CASE(when_the_chiefs_program_ends_all_others_end_with_code_0_though_closures_run) {
  process_cluster cluster{ends_while_closures_run.name(), {.servers = 2}};
  cluster.start();
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
  require_members_end(cluster, exit_code::success, 10s);
}

BOOST_AUTO_TEST_CASE(a_program_that_throws_ends_its_chief_with_code_1_and_the_others_in_order) {
  process_cluster cluster{throws.name()};
  cluster.start();
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 1");
  BOOST_TEST(cluster.has("the program failed: std::runtime_error: the data set is empty"), cluster.output());
  require_members_end(cluster, exit_code::success, 10s);
}

BOOST_AUTO_TEST_CASE(a_cluster_starts_and_ends_in_order_again_and_again) {
  for (int i = 0; i < 5; ++i) {
    process_cluster cluster{nothing_to_do.name(), {.workers = 3, .servers = 2}};
    cluster.start();
    BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0", cluster.output());
    require_members_end(cluster, exit_code::success, 5s);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
