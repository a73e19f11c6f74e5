// The first lesson's program, unchanged, in the three ways of running it.
#include "finished_program.hpp"
#include "process_cluster.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(counter_suite)

namespace {

/// What a program writes to its standard output until its end.
std::string output_of(const std::string& program, std::vector<std::string> arguments) {
  const auto ended = run_program(program, std::move(arguments));
  BOOST_TEST(ended.exit == "exit code 0", ended.errors);
  return ended.output;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_counter_counts_inside_one_process) { BOOST_TEST(output_of(COUNTER_PROGRAM, {}) == "0.125\n"); }

BOOST_AUTO_TEST_CASE(the_counter_counts_inside_one_process_that_encodes_everything) {
  BOOST_TEST(output_of(COUNTER_PROGRAM, {"--troupe-encode"}) == "0.125\n");
}

BOOST_AUTO_TEST_CASE(the_counter_counts_inside_one_process_of_another_size) {
  BOOST_TEST(output_of(COUNTER_PROGRAM, {"--troupe-workers", "5", "--troupe-servers", "3"}) == "0.125\n");
}

BOOST_AUTO_TEST_CASE(the_counter_counts_when_the_launcher_starts_it) {
  BOOST_TEST(output_of(TROUPE_COMMAND, {"run", "--workers", "2", "--ps", "1", COUNTER_PROGRAM}) == "[chief] 0.125\n");
}

BOOST_AUTO_TEST_CASE(the_counter_counts_when_the_launcher_makes_certificates_for_its_tasks) {
  BOOST_TEST(output_of(TROUPE_COMMAND, {"run", "--tls", "--ps", "2", COUNTER_PROGRAM}) == "[chief] 0.125\n");
}

BOOST_AUTO_TEST_CASE(the_counter_counts_when_each_task_finds_its_place_in_tf_config) {
  process_cluster cluster{"", {.workers = 3, .servers = 2, .program = COUNTER_PROGRAM}};
  cluster.start();
  cluster.wait_for("[chief] 0.125");
  for (const auto& task : cluster.tasks())
    BOOST_TEST(to_string(task) + ": " + to_string(cluster.end_of(task)) == to_string(task) + ": exit code 0");
}

BOOST_AUTO_TEST_CASE(flags_that_size_a_cluster_inside_one_process_have_no_effect_on_tasks_and_each_says_so) {
  process_cluster cluster{
      "", {.workers = 1, .servers = 1, .arguments = {"--troupe-workers", "5"}, .program = COUNTER_PROGRAM}};
  cluster.start();
  for (const auto& task : cluster.tasks())
    cluster.wait_for("--troupe-workers has no effect: it is for a cluster inside this process, but this process is " +
                     to_string(task) + ", one of the tasks that TF_CONFIG names");
  cluster.wait_for("[chief] 0.125");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
