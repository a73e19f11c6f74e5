// The first lesson's program, unchanged, in the three ways of running it.
#include "process_cluster.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(counter_suite)

namespace {

using namespace std::chrono_literals;

/// Runs a program to its end and returns what it wrote to its standard output.
std::string output_of(const std::string& program, std::vector<std::string> arguments) {
  child_process child{{program, std::move(arguments), {}}};
  const auto ended = child.wait_for(60s);
  BOOST_REQUIRE_MESSAGE(ended.has_value(), program << " does not end");
  BOOST_TEST(to_string(*ended) == "exit code 0");
  std::array<char, 4096> text{};
  const auto size = ::read(child.standard_output().get(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
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
