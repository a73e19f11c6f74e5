#include "watched_job.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <unistd.h>

namespace troupe {

using namespace std::chrono_literals;

std::map<task_id, int> watched_places() {
  return {{chief_task, chief_host},
          {server_task(0), chief_host},
          {watched_task, watched_host},
          {worker_task(1), other_host}};
}

void tell_of_watched_task(cluster& here) {
  const auto losses = std::stoi(here.arguments().back());
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  event_watch events{here};
  const auto process_there = [&] {
    return coordinator.schedule({.limit = 60s, .worker = watched_task.index}, [] { return ::getpid(); }).fetch();
  };
  say("running as process {}", process_there());
  for (int i = 0; i < losses; ++i) {
    events.wait_for(event_kind::member_lost, watched_task, 60s);
    say("lost");
    const auto process = process_there();
    // A loss too many would stand for the next one, which may come as soon as the process is told.
    if (const auto more = events.take_all(event_kind::member_lost, watched_task.job)) say("lost {} times more", more);
    say("running as process {}", process);
  }
}

namespace {

void tell_and_leave_nobody_behind(cluster& here) {
  tell_of_watched_task(here);
  // Who is not taken in again before the chief ends is an orphan.
  here.wait_for({server_task(0), worker_task(0), worker_task(1)}, 30s);
}

}  // namespace

const chief_program watched_job{"watched job", tell_and_leave_nobody_behind};

process_cluster watched_cluster(const host_network& network, int losses, const std::string& program) {
  return process_cluster{program, {.arguments = {std::to_string(losses)}, .place = placed(network, watched_places())}};
}

void wait_until_it_runs(process_cluster& cluster, process_cluster::milliseconds limit) {
  cluster.wait_for(fmt::format("running as process {}", cluster.pid(watched_task)), limit);
}

void require_return(process_cluster& cluster, const stopwatch& watch, std::string_view after) {
  wait_until_it_runs(cluster, 20s);
  const auto took = watch.elapsed();
  BOOST_TEST_MESSAGE("runs closures " << took.count() << " ms after " << after);
  BOOST_TEST(took.count() <= return_limit.count());
}

}  // namespace troupe
