// tools/fuzz --list, which reads the sources, knows what is registered.
#include "cluster/finished_program.hpp"
#include "decoder.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <stdlib.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(decoder_list_suite)

namespace {

using std::filesystem::path;

/// A folder with links to a few programs, for PATH.
class few_programs {
 public:
  explicit few_programs(const std::vector<std::string>& names) {
    auto name = (std::filesystem::temp_directory_path() / "troupe-programs-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    for (const auto& each : names) std::filesystem::create_symlink(path{"/usr/bin"} / each, folder_ / each);
  }
  ~few_programs() { std::filesystem::remove_all(folder_); }
  few_programs(const few_programs&) = delete;
  few_programs& operator=(const few_programs&) = delete;

  const path& folder() const { return folder_; }

 private:
  path folder_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_script_lists_all_decoders_without_a_package_manager_or_a_compiler) {
  const few_programs programs{{"dirname", "sed"}};
  const auto script = path{TROUPE_FUZZ_FINDINGS}.parent_path().parent_path().parent_path() / "tools/fuzz";
  const auto ended = run_program(script, {"--list"}, {{"PATH", programs.folder()}});
  BOOST_TEST(ended.exit == "exit code 0", ended.errors);
  std::istringstream lines{ended.output};
  std::vector<std::string> listed{std::istream_iterator<std::string>{lines}, {}};
  std::vector<std::string> registered;
  for (const auto* each : decoder::all()) registered.push_back(each->name());
  std::ranges::sort(listed);
  std::ranges::sort(registered);
  BOOST_TEST(listed == registered, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
