// `troupe why`: a job that stands still is asked from outside who waits for whom; and its log says the same when one of
// its waits is over its limit.
#include "finished_program.hpp"
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/mutex.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/process_group.hpp>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>

namespace troupe {

BOOST_AUTO_TEST_SUITE(open_waits_of_processes_suite)

namespace {

using namespace std::chrono_literals;

finished_program why(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "why");
  return run_program(TROUPE_COMMAND, std::move(arguments));
}

std::string address_of(const process_cluster& cluster, const task_id& task) {
  return to_string(cluster.config(task).cluster.address(task));
}

/// Asks until the answer has all of this: what waits may just begin to, or do something else for a moment.
finished_program why_until(const std::string& address, const std::vector<std::string>& parts) {
  const stopwatch since;
  const auto missing = [&](const finished_program& in) {
    return std::find_if(parts.begin(), parts.end(),
                        [&](const std::string& each) { return in.output.find(each) == std::string::npos; });
  };
  auto told = why({address});
  while (missing(told) != parts.end() && since.elapsed() < process_cluster::patience) told = why({address});
  if (const auto left = missing(told); left != parts.end())
    BOOST_ERROR("\"" << *left << "\" is not in:\n" << told.output << told.errors);
  return told;
}

// Of the worker's process.
troupe::mutex first{10min};
troupe::mutex second{10min};
std::atomic<int> holding{0};
completion both_hold;

void hold_and_want(bool swapped) {
  auto& mine = swapped ? second : first;
  auto& wanted = swapped ? first : second;
  const std::scoped_lock lock{mine};
  if (++holding == 2) both_hold.set();
  both_hold.wait_until(later(current_time(), 60s), "the other closure");
  const std::scoped_lock too{wanted};
}

void stand_still(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto one = coordinator.schedule<hold_and_want>({.worker = 0}, false);
  const auto other = coordinator.schedule<hold_and_want>({.worker = 0}, true);
  say("fetch: {}", status_of_call([&] { one.fetch(2s); }).render());
  one.fetch();
}

const chief_program stands_still{"stands still", stand_still};

}  // namespace

BOOST_AUTO_TEST_CASE(closures_that_wait_for_each_other_s_locks_are_named_from_outside_and_in_the_log) {
  // Which the command finds by itself.
  process_cluster cluster{stands_still.name(), {.workers = 2, .servers = 1, .secret = true}};
  cluster.start();
  // Whichever member is asked.
  for (const auto& task : {worker_task(0), worker_task(1), server_task(0)}) {
    const auto told =
        why_until(address_of(cluster, task),
                  {"cycle 1: none of these goes on", "/job:chief/task:0, process ", "/job:worker/task:1, process ",
                   "/job:ps/task:0, process ", "the value of ", "hold_and_want", " on /job:worker/task:0 (",
                   "a troupe::mutex, held by ", "which waits, too   (cycle 1)"});
    BOOST_TEST(told.exit == "exit code 3");
  }
  // By itself, when a wait is over its limit.
  cluster.wait_for("fetch: deadline_exceeded");
  cluster.wait_for("its limit, for the remote value of ");
  cluster.wait_for("cycle 1: none of these goes on before another one of them has");
}

BOOST_AUTO_TEST_CASE(a_job_with_certificates_is_asked_with_those_of_one_of_its_processes) {
  process_cluster cluster{
      stands_still.name(),
      {.workers = 2, .servers = 1, .certificates = std::make_shared<cluster_certificates>("asked")}};
  cluster.start();
  for (const auto& task : {worker_task(1), server_task(0)}) {
    const auto told = why_until(address_of(cluster, task), {"cycle 1: none of these goes on", "hold_and_want"});
    BOOST_TEST(told.exit == "exit code 3");
  }
}

BOOST_AUTO_TEST_CASE(members_that_come_late_are_no_wait_that_has_failed) {
  process_cluster cluster{stands_still.name(), {.workers = 2, .servers = 0}};
  cluster.start(chief_task);
  // It looks who is there again and again.
  cluster.wait_for("waiting for /job:worker/task:0 at ");
  for (const auto& task : {worker_task(0), worker_task(1)}) cluster.start(task);
  // One wait is told of each 10 s, so nothing else was.
  cluster.wait_for("its limit, for the remote value of ");
  BOOST_TEST(!cluster.has("its limit, for waiting for members"));
}

BOOST_AUTO_TEST_CASE(a_process_that_is_stopped_does_not_tell_and_the_others_do_within_the_limit) {
  process_cluster cluster{stands_still.name(), {.workers = 2, .servers = 0}};
  cluster.start();
  why_until(address_of(cluster, worker_task(0)), {"cycle 1"});
  cluster.signal(worker_task(1), SIGSTOP);
  const stopwatch since;
  const auto told = why({address_of(cluster, worker_task(0)), "--json"});
  BOOST_TEST(since.elapsed() < 10s);
  BOOST_TEST(told.exit == "exit code 3");
  const auto read = nlohmann::json::parse(told.output);
  auto silent = 0;
  for (const auto& each : read.at("processes"))
    if (each.contains("silent")) {
      ++silent;
      BOOST_TEST(each.at("task") == "/job:worker/task:1");
    }
  BOOST_TEST(silent == 1);
  BOOST_TEST(read.at("cycles").size() == 1u);
}

namespace {

void wait_in_vain(process_group& group) {
  if (group.rank() == 1) {
    completion sign;
    sign.wait_until(later(current_time(), 10min), "a sign that never comes");
  }
  const auto ranks = group.communicator_of_processes();
  say("rank 0: {}", status_of_call([&] { ranks->barrier(10min); }).render());
}

const group_program waits_in_vain{"waits in vain", wait_in_vain};

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_group_is_asked_at_its_chief) {
  process_cluster cluster{waits_in_vain.name(), {.workers = 1, .servers = 0}};
  cluster.start();
  const auto told = why_until(address_of(cluster, chief_task), {"a sign that never comes"});
  BOOST_TEST(told.exit == "exit code 0");
  BOOST_TEST(told.output.find("/job:worker/task:0, process ") != std::string::npos, told.output);
}

BOOST_AUTO_TEST_CASE(where_nobody_tells_the_error_says_why) {
  const auto nobody = why({"127.0.0.1:1"});
  BOOST_TEST(nobody.exit == "exit code 1");
  BOOST_TEST(nobody.errors.find("127.0.0.1:1") != std::string::npos, nobody.errors);
  for (const auto& arguments :
       {std::vector<std::string>{}, {"nowhere"}, {"127.0.0.1:1", "--limit", "0"}, {"127.0.0.1:0"}}) {
    const auto wrong = why(arguments);
    BOOST_TEST(wrong.exit == "exit code 2", wrong.errors);
    BOOST_TEST(!wrong.errors.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
