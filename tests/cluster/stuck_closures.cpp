// Closures that stay in their own code and do not look whether they are wanted any more: the chief goes on after a
// limit, and their process ends, so that it can be started anew (C-2).
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <thread>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(stuck_closures_suite)

namespace {

using namespace std::chrono_literals;

/// Hears nothing for longer than any test takes.
int compute_for_ever() {
  say("computes as process {}", ::getpid());
  std::this_thread::sleep_for(1h);
  return 0;
}

int fail() { throw out_of_range_error{"row 7 of 5"}; }

void run_beside_a_stuck_closure(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  event_watch events{here};
  const auto stuck = coordinator.schedule<compute_for_ever>({.worker = 1});
  const auto innocent = coordinator.schedule({.worker = 1}, [] { return ::getpid(); });
  coordinator.schedule<fail>({.worker = 0}).wait_for(30s);
  const stopwatch watch;
  say("join: {}", status_of_call([&] { coordinator.join(30s); }).render());
  say("thrown after {} ms", watch.elapsed().count());
  require(stuck.state() == remote_value_state::aborted, "the closure is given up");
  require(innocent.state() == remote_value_state::aborted, "the generation is cancelled");
  events.wait_for(event_kind::worker_dismissed, worker_task(1));
  events.wait_for(event_kind::member_lost, worker_task(1));
  events.wait_for(event_kind::member_joined, worker_task(1));
  say("back as process {}", coordinator.schedule({.worker = 1}, [] { return ::getpid(); }).fetch());
}

const chief_program beside_a_stuck_closure{"beside a stuck closure", run_beside_a_stuck_closure, [] {
                                             cluster_options options;
                                             options.coordinator.cancel_limit = 1s;
                                             return options;
                                           }()};

void wait_for_the_end_of_what_it_cancels(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto begun = strategy.variable<std::int64_t>("begun", 0);
  const auto sleeps = coordinator.schedule(
      {.worker = 0},
      [](variable<std::int64_t> count) {
        count.assign_add(1);
        sleep_for(1h);
      },
      begun);
  const auto stuck = coordinator.schedule(
      {.worker = 1},
      [](variable<std::int64_t> count) {
        count.assign_add(1);
        return compute_for_ever();
      },
      begun);
  while (begun.read() < 2) sleep_for(1ms);
  const stopwatch watch;
  sleeps.cancel_and_wait();
  say("the one that hears was over after {} ms", watch.elapsed().count());
  require(watch.elapsed() < 1s, "what hears of its cancellation ends at once");
  stuck.cancel_and_wait();
  require(watch.elapsed() >= 1s, "what does not hear is given up after cancel_limit");
  say("the stuck one is over");
  coordinator.join();
}

const chief_program waits_for_the_end{"waits for the end of what it cancels", wait_for_the_end_of_what_it_cancels, [] {
                                        cluster_options options;
                                        options.coordinator.cancel_limit = 1s;
                                        return options;
                                      }()};

}  // namespace

BOOST_AUTO_TEST_CASE(an_error_is_thrown_although_a_closure_computes_on_whose_process_ends_and_is_started_anew) {
  process_cluster cluster{beside_a_stuck_closure.name()};
  cluster.start();
  cluster.wait_for("computes as process");
  const auto line = cluster.wait_for("thrown after");
  BOOST_TEST_MESSAGE(line);
  BOOST_TEST(to_string(cluster.end_of(worker_task(1))) == "exit code 5");
  const auto why = cluster.wait_for("ends itself");
  BOOST_TEST(why.find("did not end") != std::string::npos, why);
  BOOST_TEST(why.find("compute_for_ever") != std::string::npos, why);
  cluster.start(worker_task(1));
  cluster.wait_for(fmt::format("back as process {}", cluster.pid(worker_task(1))));
  for (const auto& task : cluster.tasks())
    BOOST_TEST(to_string(task) + ": " + to_string(cluster.end_of(task)) == to_string(task) + ": exit code 0");
}

// C-2
BOOST_AUTO_TEST_CASE(cancel_and_wait_returns_when_the_closure_has_ended_or_its_process_is_given_up) {
  process_cluster cluster{waits_for_the_end.name()};
  cluster.start();
  cluster.wait_for("the stuck one is over");
  BOOST_TEST(to_string(cluster.end_of(worker_task(1))) == "exit code 5");
  for (const auto& task : cluster.tasks())
    if (task != worker_task(1)) BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0", to_string(task));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
