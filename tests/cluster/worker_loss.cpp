// Workers that are killed, frozen or slow: no closure is lost, the worker is taken in again, and what it had for itself
// is built again before any closure uses it (C-1, C-3, C-4).
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <thread>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(worker_loss_suite)

namespace {

using namespace std::chrono_literals;

constexpr int closures = 10'000;
constexpr int losses = 3;

/// Stands for work: the closure keeps its worker busy for this long.
int slowly_doubled(int x, int microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds{microseconds});
  return 2 * x;
}

int own_process(int kept) { return kept == ::getpid() ? kept : -kept; }

using doubled = std::vector<remote_value<int>>;

doubled schedule_many(cluster_coordinator& coordinator, int count, int microseconds) {
  doubled results;
  for (int i = 0; i < count; ++i) results.push_back(coordinator.schedule<slowly_doubled>(i, microseconds));
  return results;
}

void require_all(cluster_coordinator& coordinator, const doubled& results) {
  coordinator.join(60s);
  for (std::size_t i = 0; i < results.size(); ++i)
    require(results[i].fetch() == 2 * static_cast<int>(i), "each closure's own result");
}

/// A closure for worker 1 alone, which looks at the value that worker 1 keeps.
int process_of_worker_1(cluster_coordinator& coordinator, const per_worker_values<int>& kept) {
  return coordinator.schedule<own_process>({.limit = 30s, .worker = 1}, kept).fetch();
}

void run_through_kills(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  event_watch events{here};
  const auto process = coordinator.create_per_worker_values([] { return ::getpid(); });
  const auto results = schedule_many(coordinator, closures, 300);
  results[closures / 100].fetch();
  for (int i = 0; i < losses; ++i) {
    say("worker 1 is process {}", process_of_worker_1(coordinator, process));
    events.wait_for(event_kind::member_lost, worker_task(1));
    say("noticed");
    events.wait_for(event_kind::member_joined, worker_task(1));
  }
  say("worker 1 is process {}", process_of_worker_1(coordinator, process));
  require_all(coordinator, results);
  say("all ended");
}

const chief_program through_kills{"through kills", run_through_kills};

void run_through_a_freeze(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  event_watch events{here};
  const auto process = coordinator.create_per_worker_values([] { return ::getpid(); });
  process_of_worker_1(coordinator, process);
  const auto results = schedule_many(coordinator, 200, 2'000);
  results[10].fetch();
  say("running");
  events.wait_for(event_kind::member_lost, worker_task(1));
  require_all(coordinator, results);
  say("all ended");
  events.wait_for(event_kind::member_joined, worker_task(1));
  say("worker 1 is process {}", process_of_worker_1(coordinator, process));
}

const chief_program through_a_freeze{"worker freezes and wakes", run_through_a_freeze};

void run_through_a_pause(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  event_watch events{here};
  const auto results = schedule_many(coordinator, 400, 2'000);
  results[10].fetch();
  say("running");
  require_all(coordinator, results);
  say("lost {} times", events.take_all(event_kind::member_lost, "worker"));
}

const chief_program through_a_pause{"worker pauses", run_through_a_pause};

void run_without_workers(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  event_watch events{here};
  say("running");
  events.wait_for(event_kind::member_lost, worker_task(0));
  const auto waits = coordinator.schedule<slowly_doubled>(21, 0);
  require(!waits.wait_for(10ms), "a closure waits while there is no worker");
  const auto late = coordinator.schedule<slowly_doubled>({.limit = 50ms}, 1, 0);
  say("{}", status_of_call([&] { late.fetch(); }).render());
  require(!status_of_call([&] { coordinator.join(10s); }).ok(), "the error is raised");
  const auto again = coordinator.schedule<slowly_doubled>(21, 0);
  say("waiting");
  say("the result is {}", again.fetch());
}

const chief_program without_workers{"without workers", run_without_workers};

std::string process_line(const process_cluster& cluster) {
  return fmt::format("worker 1 is process {}", cluster.pid(worker_task(1)));
}

void require_orderly_end(process_cluster& cluster) {
  for (const auto& task : cluster.tasks())
    BOOST_TEST(to_string(task) + ": " + to_string(cluster.end_of(task)) == to_string(task) + ": exit code 0");
}

}  // namespace

BOOST_AUTO_TEST_CASE(ten_thousand_closures_survive_three_kills_of_a_worker_that_comes_back_each_time) {
  process_cluster cluster{through_kills.name()};
  cluster.start();
  auto fastest = process_cluster::patience;
  for (int i = 0; i < losses; ++i) {
    cluster.wait_for(process_line(cluster));
    const stopwatch watch;
    cluster.signal(worker_task(1), SIGKILL);
    cluster.wait_for("noticed");
    fastest = std::min(fastest, watch.elapsed());
    BOOST_TEST(to_string(cluster.end_of(worker_task(1))) == "killed by SIGKILL");
    cluster.start(worker_task(1));
  }
  cluster.wait_for(process_line(cluster));
  cluster.wait_for("all ended");
  // The machine may be busy; that the fastest of three is so fast shows that no ping and no time limit is involved.
  BOOST_TEST(fastest.count() < 100);
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(the_closures_of_a_frozen_worker_run_elsewhere_and_it_is_taken_in_again_on_waking) {
  process_cluster cluster{through_a_freeze.name()};
  cluster.start();
  cluster.wait_for("running");
  const stopwatch watch;
  cluster.signal(worker_task(1), SIGSTOP);
  cluster.wait_for("all ended");
  BOOST_TEST(watch.elapsed().count() > 1'000);
  BOOST_TEST(watch.elapsed().count() < 5'000);
  cluster.signal(worker_task(1), SIGCONT);
  cluster.wait_for(process_line(cluster));
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(a_worker_that_pauses_for_less_than_the_limit_is_not_given_up) {
  process_cluster cluster{through_a_pause.name()};
  cluster.start();
  cluster.wait_for("running");
  cluster.signal(worker_task(1), SIGSTOP);
  cluster.pass(500ms);
  cluster.signal(worker_task(1), SIGCONT);
  cluster.wait_for("lost 0 times");
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(closures_wait_within_their_limits_while_no_worker_lives) {
  process_cluster cluster{without_workers.name(), {.workers = 1}};
  cluster.start();
  cluster.wait_for("running");
  cluster.signal(worker_task(0), SIGKILL);
  const auto line = cluster.wait_for("deadline_exceeded");
  BOOST_TEST(line.find("did not end within its limit of 50 ms") != std::string::npos, line);
  cluster.wait_for("waiting");
  cluster.start(worker_task(0));
  cluster.wait_for("the result is 42");
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
