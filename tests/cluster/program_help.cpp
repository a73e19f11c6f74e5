// Arguments of the commands and of the examples: each says what it takes and what its exit codes mean, and refuses the
// rest.
#include "finished_program.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

struct command {
  std::string program;
  std::vector<std::string> before;
  /// Behind "Exit codes:", which 0 and 2 are of each.
  std::vector<std::string> codes;
};

std::ostream& operator<<(std::ostream& to, const command& which) {
  to << which.program;
  for (const auto& each : which.before) to << ' ' << each;
  return to;
}

const std::vector<command> commands{
    {"troupe", {"run"}, {"1", "126", "127", "other"}},
    {"troupe", {"chaos"}, {"1", "3", "4", "126", "127"}},
    {"troupe", {"certs"}, {"1"}},
    {"troupe", {"why"}, {"1", "3"}},
    {"troupe-soak", {}, {"1", "other"}},
    {"counter", {}, {"1", "other"}},
    {"fashion_mnist", {}, {"1", "other"}},
    {"mirrored_fashion_mnist", {}, {"1", "other"}},
    {"sensors", {}, {"1", "other"}},
    {"application", {}, {"1", "3"}},
    {"replicas", {}, {}},
    {"rpc_server", {}, {"1"}},
    {"rpc_client", {}, {"1"}},
};

finished_program run(const command& which, const std::string& argument) {
  auto arguments = which.before;
  arguments.push_back(argument);
  return run_program(std::string{PROGRAMS_FOLDER} + "/" + which.program, arguments);
}

/// What begins its lines behind "Exit codes:".
std::vector<std::string> codes_in(const std::string& help) {
  std::vector<std::string> codes;
  const std::string_view title = "\nExit codes:\n";
  auto at = help.find(title);
  if (at == std::string::npos) return codes;
  at += title.size();
  while (help.compare(at, 2, "  ") == 0) {
    const auto begin = at + 2;
    if (help[begin] != ' ') codes.push_back(help.substr(begin, help.find(' ', begin) - begin));
    at = help.find('\n', at) + 1;
  }
  return codes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(program_help_suite)

BOOST_DATA_TEST_CASE(help_lists_the_exit_codes, boost::unit_test::data::make(commands), which) {
  const auto ended = run(which, "--help");
  BOOST_TEST(ended.exit == "exit code 0", ended.errors);
  auto codes = which.codes;
  codes.emplace_back("0");
  codes.emplace_back("2");
  auto listed = codes_in(ended.output);
  std::ranges::sort(codes);
  std::ranges::sort(listed);
  BOOST_TEST(listed == codes, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(an_unknown_argument_is_wrong_usage, boost::unit_test::data::make(commands), which) {
  const auto ended = run(which, "--nonsense");
  BOOST_TEST(ended.exit == "exit code 2", ended.errors);
  BOOST_TEST(ended.errors != "");
  BOOST_TEST(ended.output == "");
}

BOOST_AUTO_TEST_CASE(the_help_of_run_says_that_it_ends_without_workers) {
  BOOST_TEST(run({"troupe", {"run"}, {}}, "--help").output.find("no worker was left") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(sensors_take_seconds) {
  const command sensors{"sensors", {}, {}};
  BOOST_TEST(run(sensors, "1").exit == "exit code 0");
  for (const auto* wrong : {"0", "x"}) BOOST_TEST(run(sensors, wrong).exit == "exit code 2");
}

BOOST_AUTO_TEST_CASE(a_soak_that_is_too_short_says_nothing_of_growth) {
  const auto ended = run_program(SOAK_PROGRAM, {"--minutes", "0.1", "--report-every", "1"});
  BOOST_TEST(ended.exit == "exit code 0", ended.errors);
  BOOST_TEST(ended.output.find("growth: not measured: the run was shorter than 300 s\n") != std::string::npos,
             ended.output);
  BOOST_TEST(ended.output.find(" times") == std::string::npos, ended.output);
}

BOOST_AUTO_TEST_CASE(a_soak_without_a_place_for_its_checkpoint_says_so) {
  const auto ended = run_program(SOAK_PROGRAM, {"--minutes", "0.1"}, {{"TMPDIR", "/nonexistent"}});
  BOOST_TEST(ended.exit == "exit code 1", ended.errors);
  BOOST_TEST(ended.errors.find("\"/nonexistent\"") != std::string::npos, ended.errors);
}

BOOST_AUTO_TEST_CASE(settings_of_the_environment_that_can_not_be_are_wrong_usage) {
  for (const auto* wrong : {"65", "x"}) {
    const auto ended = run_program(COUNTER_PROGRAM, {}, {{"TROUPE_EMULATED_GPUS", wrong}});
    BOOST_TEST(ended.exit == "exit code 2");
    BOOST_TEST(ended.errors.starts_with("TROUPE_EMULATED_GPUS is"), ended.errors);
  }
  const auto ended = run_program(COUNTER_PROGRAM, {}, {{"TROUPE_PROGRESS", "nix"}});
  BOOST_TEST(ended.exit == "exit code 2");
  BOOST_TEST(ended.errors == "TROUPE_PROGRESS is \"nix\"; expected bar, lines, or no such variable\n");
}

BOOST_AUTO_TEST_CASE(the_help_of_every_program_lists_the_environment_variables) {
  const auto help = run_program(COUNTER_PROGRAM, {"--troupe-help"}).output;
  for (const auto* part : {"TROUPE_SECRET_FILE", "TROUPE_TLS_CERTIFICATE", "TROUPE_TLS_KEY", "TROUPE_TLS_CA",
                           "TROUPE_CLUSTER", "TROUPE_INSECURE=1", "TF_CONFIG", "TROUPE_EMULATED_GPUS=N",
                           "TROUPE_PROGRESS", "NO_COLOR", "share/doc/troupe/examples/reference/configuration.md"})
    BOOST_TEST(help.find(part) != std::string::npos, part);
  const std::vector<std::string> codes{"0", "1", "2", "3", "4", "5", "6", "7", "128", "other"};
  BOOST_TEST(codes_in(help) == codes, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
