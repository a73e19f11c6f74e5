// What the chief of a large cluster sends.
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(scale_suite)

namespace {

simulation_options size(int workers) { return {.seed = 5, .size = {.workers = workers, .servers = 2}}; }

/// Bytes that the chief sends until all are in and have built no value yet.
std::uint64_t bytes_of_admission(int workers) {
  ready_cluster cluster{size(workers)};
  // What the chief sends when the last one is in, too.
  cluster.advance(10ms);
  return cluster.bytes_sent(chief);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_chief_sends_to_admit_all_grows_with_their_number_and_no_faster) {
  const auto few = bytes_of_admission(25);
  const auto many = bytes_of_admission(100);
  BOOST_TEST_MESSAGE("25 workers: " << few << " bytes, 100 workers: " << many << " bytes");
  BOOST_TEST(many < few * 5);
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_worker_concerns_no_other_worker) {
  ready_cluster cluster{size(50)};
  cluster.advance(10ms);
  // The same time with a loss and without, less than a ping's interval.
  const auto before = cluster.bytes_sent(chief);
  cluster.advance(20ms);
  const auto without = cluster.bytes_sent(chief) - before;
  kill_worker(cluster, 7);
  cluster.advance(20ms);
  const auto with = cluster.bytes_sent(chief) - before - without;
  BOOST_TEST_MESSAGE("20 ms without a loss: " << without << " bytes, with one: " << with);
  BOOST_TEST(with < without + 10'000);
}

BOOST_AUTO_TEST_CASE(a_worker_that_comes_late_knows_all_servers_and_hears_of_their_changes) {  // M-2
  simulation cluster{{.seed = 6, .size = {.workers = 2, .servers = 2}}};
  observations::here() = {};
  cluster.kill(worker_task(1));
  cluster.run_until_ready();
  const auto counter = cluster.make_variable<std::int64_t>("counter", 1, 1);
  cluster.restart(worker_task(1));
  cluster.run_until_ready();
  const auto add = [&](int worker) {
    return cluster.schedule(
        schedule_options{.worker = worker},
        [](variable<std::int64_t> x) {
          x.assign_add(1);
          return static_cast<int>(x.read());
        },
        counter);
  };
  BOOST_TEST(cluster.fetch(add(1)) == 2);
  BOOST_TEST(cluster.fetch(add(0)) == 3);
  cluster.kill(server_task(1));
  cluster.advance(1s);
  for (const auto worker : {0, 1}) {
    const auto lost = add(worker);
    cluster.advance(1s);
    BOOST_TEST(contains(end_of(lost).render(), "/job:ps/task:1"), end_of(lost).render());
    const auto join = cluster.join();
    cluster.advance(100ms);
  }
}

BOOST_AUTO_TEST_SUITE_END()
