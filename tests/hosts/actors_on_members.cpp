// Actors of the application on hosts of their own: found through kills, and through a cable that is pulled out.
//
// TROUPE_KILL_ROUNDS: how often.
#include "cluster/sensor_job.hpp"
#include "placement.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(actors_on_members_suite)

namespace {

using namespace std::chrono_literals;

process_cluster sensors_on(const host_network& network, int losses) {
  return process_cluster{
      sensor_job.name(),
      {.arguments = {std::to_string(losses)},
       .place = placed(network, {{chief_task, 0}, {server_task(0), 0}, {worker_task(0), 1}, {worker_task(1), 2}})}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_actor_of_another_host_is_found_again_after_each_kill) {
  const auto rounds = kill_rounds();
  const host_network network{3};
  auto cluster = sensors_on(network, rounds);
  cluster.start();
  kill_and_find_again(cluster, rounds);
  require_good_ends(cluster);
}

BOOST_AUTO_TEST_CASE(an_actor_of_a_host_that_is_cut_off_is_lost_within_the_silence_and_found_after_the_heal) {
  host_network network{3};
  auto cluster = sensors_on(network, 1);
  cluster.start();
  wait_until_sensor_is_found(cluster);
  network.cut(1);
  const stopwatch watch;
  cluster.wait_for("open question: unavailable", 5s);
  BOOST_TEST(watch.elapsed().count() >= 1500);
  network.heal(1);
  wait_until_sensor_is_found(cluster);
  require_good_ends(cluster);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
