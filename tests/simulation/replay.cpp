// S-1: the same seed and the same calls give the same events at the same times.
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(replay_suite)

namespace {

struct course {
  std::vector<std::string> trace;
  std::vector<int> order;
  std::uint64_t steps = 0;
};

course run(std::uint64_t seed) {
  observations::here() = {};
  simulation cluster{{.seed = seed, .size = {.workers = 3, .servers = 2}}};
  cluster.run_until_ready();
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0, 1);
  std::vector<remote_value<int>> values;
  for (int i = 0; i < 30; ++i)
    values.push_back(cluster.schedule(
        [](int number, variable<std::int64_t> shared) {
          const execution here{number};
          shared.assign_add(1);
          sleep_for(10ms);
          return here.finish();
        },
        i, counter));
  cluster.advance(3ms);
  cluster.kill(worker_task(1));
  cluster.break_link(server_task(1), worker_task(0));
  cluster.advance(3ms);
  cluster.freeze(worker_task(2));
  cluster.advance(3s);
  cluster.thaw(worker_task(2));
  cluster.restart(worker_task(1));
  for (const auto& value : values) cluster.fetch(value);
  cluster.run_until_ready();
  return {cluster.trace(), observations::here().order, cluster.steps()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replay)

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_events_at_the_same_times_again) {  // S-1
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto first = run(seed);
    const auto second = run(seed);
    BOOST_TEST(first.trace == second.trace, boost::test_tools::per_element());
    BOOST_TEST(first.order == second.order, boost::test_tools::per_element());
    BOOST_TEST(first.steps == second.steps);
    BOOST_TEST(first.trace.size() > 10u);
  }
}

BOOST_AUTO_TEST_CASE(another_seed_gives_another_course) {
  BOOST_TEST(run(1).trace != run(2).trace);
  BOOST_TEST(run(1).order != run(2).order);
}

BOOST_AUTO_TEST_CASE(failures_that_can_not_be_are_refused_with_a_reason) {
  simulation cluster{{.seed = 1}};
  const auto says = [](std::string_view text) {
    return [text](const error& refused) { return contains(refused.message(), text); };
  };
  BOOST_CHECK_EXCEPTION(cluster.kill(worker_task(7)), invalid_argument_error,
                        says("it has a chief, 2 workers, 1 servers and 0 other members"));
  BOOST_CHECK_EXCEPTION(cluster.thaw(worker_task(0)), failed_precondition_error, says("is not frozen"));
  BOOST_CHECK_EXCEPTION(cluster.restart(worker_task(0)), failed_precondition_error, says("kill it first"));
  BOOST_CHECK_EXCEPTION(cluster.cut(chief, chief), invalid_argument_error, says("between two hosts"));
  cluster.kill(worker_task(0));
  BOOST_CHECK_EXCEPTION(cluster.freeze(worker_task(0)), failed_precondition_error, says("restart it first"));
  BOOST_CHECK_EXCEPTION((simulation{{.latency_min = 2ms, .latency_max = 1ms}}), invalid_argument_error,
                        says("latency_min"));
  BOOST_CHECK_EXCEPTION((simulation{{.size = {.workers = 10'000}}}), invalid_argument_error, says("10000 workers"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
