// A worker on a host of its own that is killed and started again and again: how soon it runs closures.
//
// TROUPE_KILL_ROUNDS: how often.
#include "watched_job.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

namespace troupe {

BOOST_AUTO_TEST_SUITE(restarts_suite)

namespace {

using namespace std::chrono_literals;

int rounds() {
  const auto* const text = std::getenv("TROUPE_KILL_ROUNDS");
  return text == nullptr ? 20 : std::stoi(text);
}

std::int64_t percentile(const std::vector<std::int64_t>& sorted, int percent) {
  const auto rank = (sorted.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return sorted.at(rank - 1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_that_is_killed_and_started_again_runs_closures_soon_every_time) {
  const auto times = rounds();
  const host_network network{3};
  auto cluster = watched_cluster(network, times);
  cluster.start();
  for (std::size_t i = 0; i < cluster.tasks().size(); ++i) cluster.wait_for("begins");
  wait_until_it_runs(cluster);
  std::vector<std::int64_t> took_ms;
  for (int i = 0; i < times; ++i) {
    cluster.signal(watched_task, SIGKILL);
    cluster.wait_for("lost");
    cluster.end_of(watched_task);
    cluster.start(watched_task);
    cluster.wait_for("begins");
    const stopwatch watch;
    wait_until_it_runs(cluster, 20s);
    took_ms.push_back(watch.elapsed().count());
  }
  require_good_ends(cluster);
  std::sort(took_ms.begin(), took_ms.end());
  BOOST_TEST_MESSAGE("runs closures after so many ms: " << fmt::format("{}", fmt::join(took_ms, " ")));
  BOOST_TEST(percentile(took_ms, 50) <= 400);
  BOOST_TEST(percentile(took_ms, 99) <= return_limit.count());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
