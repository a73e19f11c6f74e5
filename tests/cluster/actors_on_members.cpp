// Actors of the application in processes of their own, one of which is killed and comes back again and again.
//
// TROUPE_KILL_ROUNDS: how often.
#include "sensor_job.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(actors_on_members_suite)

BOOST_AUTO_TEST_CASE(an_actor_of_a_process_that_is_killed_is_found_again_every_time) {
  const auto rounds = kill_rounds();
  process_cluster cluster{sensor_job.name(), {.arguments = {std::to_string(rounds)}}};
  cluster.start();
  kill_and_find_again(cluster, rounds);
  for (const auto& task : cluster.tasks()) BOOST_TEST(cluster.end_of(task).success(), to_string(task));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
