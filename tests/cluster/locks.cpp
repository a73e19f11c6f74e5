// Locks that closures hold over their waits: a std::mutex blocks its worker, and the chief's error says where and why;
// a troupe::mutex does not.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/actors/fibers/mutex.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <mutex>

namespace troupe {

BOOST_AUTO_TEST_SUITE(locks_suite)

namespace {

using namespace std::chrono_literals;

// Of each worker process.
std::mutex thread_mutex;
troupe::mutex fiber_mutex;
std::atomic<bool> another_comes = false;

/// Holds the lock over reads, the last of which is under way when another closure wants the lock.
void hold_over_reads(variable<std::int64_t> sum) {
  const std::scoped_lock lock{thread_mutex};
  while (!another_comes) sum.read();
  sum.read();
}

void lock_too() {
  another_comes = true;
  const std::scoped_lock lock{thread_mutex};
}

std::int64_t add_under_lock(variable<std::int64_t> sum) {
  const std::scoped_lock lock{fiber_mutex};
  const auto before = sum.read();
  sum.assign(before + 1);
  return before;
}

void run_with_locks(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  event_watch events{here};
  const auto sum = strategy.variable<std::int64_t>("sum", 0);
  constexpr auto additions = 200;
  for (auto i = 0; i < additions; ++i) coordinator.schedule<add_under_lock>({.worker = 0}, sum);
  coordinator.join(60s);
  say("added {}", sum.read());
  const auto first = coordinator.schedule<hold_over_reads>({.worker = 1}, sum);
  const auto second = coordinator.schedule<lock_too>({.worker = 1});
  say("join: {}", status_of_call([&] { coordinator.join(2s); }).render());
  say("fetch: {}", status_of_call([&] { first.fetch(100ms); }).render());
  first.cancel();
  second.cancel();
  events.wait_for(event_kind::worker_dismissed, worker_task(1));
  events.wait_for(event_kind::member_lost, worker_task(1));
}

const chief_program with_locks{"with locks", run_with_locks, [] {
                                 cluster_options options;
                                 options.coordinator.cancel_limit = 1s;
                                 return options;
                               }()};

bool says(const std::string& line, std::string_view part) { return line.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_lock_of_fibers_may_be_held_over_operations_and_one_of_threads_is_named_when_it_blocks_a_worker) {
  process_cluster cluster{with_locks.name()};
  cluster.start();
  cluster.wait_for("added 200");
  const auto join = cluster.wait_for("join: ");
  BOOST_TEST_MESSAGE(join);
  BOOST_TEST(says(join, "deadline_exceeded: waiting for all closures took longer than its limit of 2000 ms"), join);
  BOOST_TEST(says(join, "2 closures have not ended"), join);
  BOOST_TEST(says(join, "hold_over_reads"), join);
  BOOST_TEST(says(join, "lock_too"), join);
  BOOST_TEST(says(join, "on /job:worker/task:1, which does not answer and has ended none for"), join);
  BOOST_TEST(says(join, "blocks the thread that all of them share"), join);
  BOOST_TEST(says(join, "use troupe::mutex"), join);
  const auto fetch = cluster.wait_for("fetch: ");
  BOOST_TEST(says(fetch, "hold_over_reads"), fetch);
  BOOST_TEST(says(fetch, "does not answer"), fetch);
  BOOST_TEST(to_string(cluster.end_of(worker_task(1))) == "exit code 5");
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
