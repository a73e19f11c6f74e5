#include "support/environment_variable.hpp"
#include "support/temporary_file.hpp"

#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/run.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(run_flags_suite)

namespace {

/// What `run` made of a command line: the exit code, and what the program saw if it ran.
struct outcome {
  int code = 0;
  bool ran = false;
  int workers = 0;
  int servers = 0;
  std::vector<std::string> arguments;
};

outcome run_with(std::vector<std::string> arguments, int program_code = 0) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  outcome result;
  result.code = troupe::run(static_cast<int>(argv.size()), argv.data(),
                            std::function<int(troupe::cluster&)>{[&](troupe::cluster& here) {
                              result.ran = true;
                              result.workers = here.worker_count();
                              result.servers = here.server_count();
                              result.arguments = here.arguments();
                              return program_code;
                            }});
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_flags_a_cluster_of_two_workers_and_one_server_runs_in_this_process) {
  const auto result = run_with({});
  BOOST_TEST(result.code == 0);
  BOOST_TEST(result.workers == 2);
  BOOST_TEST(result.servers == 1);
}

BOOST_AUTO_TEST_CASE(troupes_flags_are_taken_out_and_the_programs_own_come_through_in_order) {
  const auto result =
      run_with({"train", "--troupe-workers", "3", "--epochs", "5", "--troupe-servers=2", "-v", "--name=x"});
  BOOST_TEST(result.workers == 3);
  BOOST_TEST(result.servers == 2);
  const std::vector<std::string> expected{"train", "--epochs", "5", "-v", "--name=x"};
  BOOST_TEST(result.arguments == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_role_takes_one_word_and_leaves_what_follows_to_the_program) {
  const auto result = run_with({"--troupe-role", "probe=1", "--troupe-role", "probe=2", "input", "--epochs"});
  BOOST_TEST(result.code == 0);
  const std::vector<std::string> expected{"input", "--epochs"};
  BOOST_TEST(result.arguments == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_exit_code_is_the_programs_own_or_1_when_it_throws) {
  BOOST_TEST(run_with({}, 7).code == 7);
  std::string name = "program";
  std::vector<char*> argv{name.data()};
  const auto throws = [](troupe::cluster&) { throw std::runtime_error{"the data set is empty"}; };
  BOOST_TEST(troupe::run(1, argv.data(), throws) == troupe::exit_code::program_failed);
}

BOOST_AUTO_TEST_CASE(a_wrong_flag_ends_with_code_2_before_the_program_runs) {
  const std::vector<std::vector<std::string>> wrong{{"--troupe-workers", "0"},
                                                    {"--troupe-workers", "many"},
                                                    {"--troupe-workers"},
                                                    {"--troupe-servers", "-1"},
                                                    {"--troupe-workers", "1000000000"},
                                                    {"--troupe-worker", "3"},
                                                    {"--troupe-config", "/no/such/file"},
                                                    {"--troupe-config", "/"},
                                                    {"--troupe-role", "ps=1"}};
  for (const auto& arguments : wrong) {
    BOOST_TEST_CONTEXT(fmt::format("{}", fmt::join(arguments, " "))) {
      const auto result = run_with(arguments);
      BOOST_TEST(result.code == troupe::exit_code::usage_error);
      BOOST_TEST(!result.ran);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_tf_config_ends_with_code_2_before_the_program_runs) {
  for (const auto* text :
       {"nonsense", "{}", R"({"cluster":{"chief":["127.0.0.1:7777"]}})",
        R"({"cluster":{"chief":["127.0.0.1:7777"],"worker":["127.0.0.1"]},"task":{"type":"chief","index":0}})",
        R"({"cluster":{"chief":["127.0.0.1:7777"],"worker":["127.0.0.1:7778"]},"task":{"type":"worker","index":5}})"}) {
    const troupe::environment_variable set{"TF_CONFIG", text};
    const auto result = run_with({});
    BOOST_TEST(result.code == troupe::exit_code::usage_error, text);
    BOOST_TEST(!result.ran);
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_setting_of_the_environment_ends_with_code_2_before_the_program_runs) {
  for (const auto& [name, wrong] : std::vector<std::pair<std::string, std::string>>{
           {"TROUPE_EMULATED_GPUS", "65"}, {"TROUPE_EMULATED_GPUS", "x"}, {"TROUPE_PROGRESS", "nix"}}) {
    const troupe::environment_variable set{name, wrong};
    const auto result = run_with({});
    BOOST_TEST(result.code == troupe::exit_code::usage_error, name + "=" + wrong);
    BOOST_TEST(!result.ran);
    std::string program = "program";
    std::vector<char*> argv{program.data()};
    auto ran = false;
    BOOST_TEST(troupe::run_group(1, argv.data(), [&](troupe::process_group&) { ran = true; }) ==
               troupe::exit_code::usage_error);
    BOOST_TEST(!ran);
  }
  for (const auto* right : {"bar", "lines", ""}) {
    const troupe::environment_variable set{"TROUPE_PROGRESS", right};
    BOOST_TEST(run_with({}).ran, right);
  }
}

BOOST_AUTO_TEST_CASE(what_stands_behind_two_dashes_is_the_programs_own_whatever_it_is_called) {
  const auto result = run_with({"--troupe-workers", "1", "--", "--troupe-workers", "3", "-x"});
  BOOST_TEST(result.code == 0);
  BOOST_TEST(result.workers == 1);
  const std::vector<std::string> expected{"--", "--troupe-workers", "3", "-x"};
  BOOST_TEST(result.arguments == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_group_of_this_process_alone_refuses_what_sizes_a_cluster) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--troupe-workers", "1"}, {"--troupe-role", "probe=1"}, {"--troupe-encode"}}) {
    auto given = arguments;
    given.insert(given.begin(), "program");
    std::vector<char*> argv;
    for (auto& argument : given) argv.push_back(argument.data());
    auto ran = false;
    BOOST_TEST(troupe::run_group(static_cast<int>(argv.size()), argv.data(),
                                 [&](troupe::process_group&) { ran = true; }) == troupe::exit_code::usage_error);
    BOOST_TEST(!ran);
  }
}

BOOST_AUTO_TEST_CASE(a_task_that_others_leave_out_of_the_cluster_is_told_how_to_come_in) {
  try {
    troupe::parse_tf_config(R"({"cluster":{"chief":["a:1"],"worker":["a:2"]},"task":{"type":"evaluator","index":0}})",
                            "/etc/job.json");
    BOOST_ERROR("it was taken");
  } catch (const troupe::invalid_argument_error& refused) {
    BOOST_TEST(refused.message().starts_with("/etc/job.json: task.type is \"evaluator\""), refused.message());
    BOOST_TEST((refused.message().find("add \"evaluator\": [\"host:port\"] to cluster") != std::string::npos));
  }
}

BOOST_AUTO_TEST_CASE(help_prints_and_ends_with_code_0_without_running_the_program) {
  const auto result = run_with({"--troupe-help"});
  BOOST_TEST(result.code == troupe::exit_code::success);
  BOOST_TEST(!result.ran);
}

BOOST_AUTO_TEST_CASE(flags_say_with_what_a_process_enters_a_cluster) {
  const troupe::temporary_file secret{"the text of a secret"};
  BOOST_TEST(run_with({"--troupe-secret-file", secret.path(), "--troupe-cluster", "blue", "--troupe-insecure"}).ran);
  const auto own = troupe::credentials::of_process();
  BOOST_TEST(own->cluster == "blue");
  BOOST_TEST(own->insecure);
  BOOST_TEST_REQUIRE(own->secret != nullptr);
  BOOST_TEST((own->secret->prove("a", "b") == troupe::cluster_secret{"the text of a secret"}.prove("a", "b")));
  BOOST_TEST(run_with({}).ran);
  BOOST_TEST(troupe::credentials::of_process()->secret == nullptr);
}

BOOST_AUTO_TEST_CASE(a_secret_that_can_not_be_read_is_a_usage_error) {
  const auto result = run_with({"--troupe-secret-file", "/nowhere"});
  BOOST_TEST(result.code == troupe::exit_code::usage_error);
  BOOST_TEST(!result.ran);
}

BOOST_AUTO_TEST_SUITE_END()
