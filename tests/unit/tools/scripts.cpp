// tools/test takes each label that tests have.
#include "cluster/finished_program.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace troupe {

BOOST_AUTO_TEST_SUITE(scripts_suite)

namespace {

using std::filesystem::path;

const path source = TROUPE_SOURCE_FOLDER;

/// Of all tests but the benchmarks.
std::set<std::string> labels_in_cmake_files() {
  std::set<std::string> labels;
  const std::regex form{R"((?:LABELS |troupe_add_tests\()([a-z]+)\b)"};
  for (const auto* folder : {"tests", "examples", "tools"}) {
    for (const auto& each : std::filesystem::recursive_directory_iterator{source / folder}) {
      if (each.path().filename() != "CMakeLists.txt" && each.path().extension() != ".cmake") continue;
      std::ifstream file{each.path()};
      const std::string text{std::istreambuf_iterator<char>{file}, {}};
      for (std::sregex_iterator found{text.begin(), text.end(), form}, end; found != end; ++found)
        labels.insert((*found)[1]);
    }
  }
  labels.erase("perf");
  return labels;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_script_of_the_tests_takes_every_label_and_its_help_has_it) {
  const auto labels = labels_in_cmake_files();
  BOOST_TEST(labels.contains("examples"));
  for (const auto& label : labels) {
    const auto ended = run_program(source / "tools/test", {"--label", label, "--help"});
    BOOST_TEST(ended.exit == "exit code 0", label << ": " << ended.errors);
    BOOST_TEST(std::regex_search(ended.output, std::regex{"\\b" + label + "\\b"}), label);
  }
  BOOST_TEST(run_program(source / "tools/test", {"--label", "perf", "--help"}).exit == "exit code 2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
