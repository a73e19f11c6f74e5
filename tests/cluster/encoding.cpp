// One process that encodes what its members send each other fails where several processes fail, with the same words.
#include "process_cluster.hpp"
#include "support/limits_between_members.hpp"
#include "test_program.hpp"

#include <troupe/runtime/system_config.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(encoding_suite)

namespace {

void run_fails(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  for (const auto& each : failures_between_members(coordinator)) say("ends: {}", each);
}

const chief_program fails{"fails between members", run_fails};

}  // namespace

BOOST_AUTO_TEST_CASE(what_fails_between_processes_fails_in_one_that_encodes_with_the_same_words) {
  process_cluster processes{fails.name(), {.workers = 1, .servers = 1}};
  processes.start();
  system_config config{false};
  caf::actor_system system{config};
  cluster here{system, {.workers = 1, .servers = 1, .encode = true}};
  here.wait_until_ready();
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  for (const auto& each : failures_between_members(coordinator)) {
    const auto line = processes.wait_for("ends: ");
    BOOST_TEST(line.substr(line.find("ends: ")) == "ends: " + each);
  }
  BOOST_TEST(to_string(processes.end_of(chief_task)) == "exit code 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
