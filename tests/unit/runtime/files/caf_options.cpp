// What CAF takes from a configuration file, and what it would pass over without a word; files/caf_options.hpp.
#include "support/refusal.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/caf_options.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system_config.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

BOOST_AUTO_TEST_SUITE(caf_options_suite)

namespace {

struct own_config : caf::actor_system_config {
  own_config() { opt_group{custom_options_, "probe"}.add(depth, "depth", "how deep").add(name, "name", "its name"); }
  int depth = 1;
  std::string name = "none";
};

/// A file of a test's own.
struct options_file {
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("troupe_options_{}", ::getpid()));
  own_config config;

  ~options_file() { std::filesystem::remove(path); }
  void read(const std::string& text) {
    std::ofstream{path} << text;
    troupe::read_caf_options(path, config);
  }
  void refuses(const std::string& text, const std::string& why) {
    BOOST_TEST(troupe::refuses<troupe::invalid_argument_error>([&] { read(text); }, why), text);
    BOOST_TEST(troupe::refuses<troupe::invalid_argument_error>([&] { read(text); }, path), text);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(options_of_the_application_and_of_caf_are_taken, options_file) {
  read("; a comment\n[probe]\ndepth = 42\nname = \"deep\"\n\n[scheduler]\nmax-threads = 2\npolicy = 'stealing'\n");
  BOOST_TEST(config.depth == 42);
  BOOST_TEST(config.name == "deep");
  BOOST_TEST(caf::get_or(config, "scheduler.max-threads", std::size_t{0}) == 2u);
}

BOOST_FIXTURE_TEST_CASE(sections_that_nobody_has_described_are_the_applications_own_affair, options_file) {
  read("[elsewhere]\nanything = [1, 2]\n");
  const auto list = caf::get_if<caf::config_value::list>(&caf::content(config), "elsewhere.anything");
  BOOST_REQUIRE(static_cast<bool>(list));
  BOOST_TEST(list->size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(what_caf_would_pass_over_is_refused_with_what_was_expected, options_file) {
  refuses("[probe]\ndepht = 3\n", "[probe] has no option \"depht\"; it has depth, name");
  refuses("[scheduler]\nmax-thraeds = 3\n", "[scheduler] has no option \"max-thraeds\"; it has ");
  refuses("[probe]\ndepth = \"text\"\n", "[probe] depth is \"text\" but must be int32");
  refuses("[scheduler]\nmax-threads = \"two\"\n", "[scheduler] max-threads is \"two\" but must be ");
  refuses("probe { depth = 3 ", "is no INI");
  refuses("[probe\n", "is no INI");
  refuses("nonsense", "write [section] on a line");
  refuses("probe { depth = 42 }\n", "[probe] depth = 42 was not understood");
  BOOST_TEST(config.depth == 1);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_file_is_not_found, options_file) {
  BOOST_CHECK_THROW(troupe::read_caf_options("/nowhere", config), troupe::not_found_error);
  BOOST_CHECK_THROW(troupe::read_caf_options("/", config), troupe::not_found_error);
}

BOOST_AUTO_TEST_SUITE_END()
