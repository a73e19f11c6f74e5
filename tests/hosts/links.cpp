// Links that are cut for a moment or slow: nobody is lost, and what was under way arrives.
#include "watched_job.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(links_suite)

namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_cut_that_nobody_had_to_notice_changes_nothing) {
  host_network network{3};
  auto cluster = watched_cluster(network, 0);
  cluster.start();
  wait_until_it_runs(cluster);
  network.cut(watched_host);
  cluster.pass(700ms);
  network.heal(watched_host);
  require_good_ends(cluster);
  BOOST_TEST(!cluster.has("lost"), cluster.output());
}

// --- slow links -----------------------------------------------------------------------------------------------------

constexpr std::int64_t large_bytes = std::int64_t{8} << 20;

int last_byte(const tensor& content) { return content.values<std::uint8_t>().back(); }

tensor returned(const tensor& content) { return content; }

void run_over_a_slow_link(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  here.wait_for({worker_task(0), worker_task(1)}, 30s);
  event_watch events{here};
  const auto content = tensor::full({large_bytes}, std::uint8_t{7});
  const auto large = strategy.variable("large", content);
  std::vector<remote_value<int>> read;
  std::vector<remote_value<tensor>> moved;
  for (int i = 0; i < 2; ++i) {
    read.push_back(coordinator.schedule(
        {.worker = i}, [](tensor_variable v) { return last_byte(v.read()); }, large));
    moved.push_back(coordinator.schedule<returned>({.worker = i}, content));
  }
  for (const auto& each : read) require(each.fetch(50s) == 7, "what a worker has read");
  for (const auto& each : moved) require(last_byte(each.fetch(50s)) == 7, "what a worker has sent back");
  coordinator.join(10s);
  say("{} workers and {} servers were lost", events.take_all(event_kind::member_lost, "worker"),
      events.take_all(event_kind::member_lost, "ps"));
}

const chief_program over_a_slow_link{"large values over a slow link", run_over_a_slow_link};

BOOST_AUTO_TEST_CASE(nobody_is_given_up_for_a_slow_link_that_large_values_fill) {
  host_network network{3};
  auto host_of = watched_places();
  host_of[server_task(0)] = other_host;
  // The two values that go to the worker take 2.7 s together, longer than anybody may be silent.
  network.limit(watched_host, "50mbit");
  process_cluster cluster{over_a_slow_link.name(), {.place = placed(network, host_of)}};
  const stopwatch watch;
  cluster.start();
  cluster.wait_for("0 workers and 0 servers were lost");
  BOOST_TEST_MESSAGE("moved over the slow link after " << watch.elapsed().count() << " ms");
  require_good_ends(cluster);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
