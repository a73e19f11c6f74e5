// What CAF takes from a configuration file, and what it would pass over without a word; files/caf_options.hpp.
#include "support/refusal.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/caf_options.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

BOOST_AUTO_TEST_SUITE(caf_options_suite)

namespace {

struct own_config : caf::actor_system_config {
  own_config() {
    opt_group{custom_options_, "probe"}
        .add(depth, "depth", "how deep")
        .add(name, "name", "its name")
        .add(wait, "wait", "how long")
        .add(number, "number", "a large one");
    opt_group{custom_options_, "probe-parts.inner"}.add(part, "part", "of another section");
  }
  int depth = 1;
  std::string name = "none";
  caf::timespan wait{};
  std::int64_t number = 0;
  int part = 0;
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

BOOST_FIXTURE_TEST_CASE(a_section_without_options_is_refused_with_its_line_and_those_that_there_are, options_file) {
  refuses("; a comment\n[shceduler]\nmax-threads = 2\n",
          "line 2: there is no section [shceduler]; the sections are global, stream, scheduler, work-stealing, logger, "
          "middleman, opencl, openssl, probe, probe-parts.inner");
  refuses("[probe]\ndepth = 42\n\n[ sensr ]\ndepth = 42\n", "line 4: there is no section [sensr]");
  refuses("[elsewhere]\n", "line 1: there is no section [elsewhere]");
  refuses("[own.probe]\ndepth = 42\n", "line 1: there is no section [own]");
  BOOST_TEST(config.depth == 1);
}

BOOST_FIXTURE_TEST_CASE(sections_of_all_modules_of_caf_are_known_and_those_within_sections, options_file) {
  for (const auto* each : {"global", "stream", "scheduler", "work-stealing", "logger", "middleman", "opencl", "openssl",
                           "probe", "probe-parts.inner"})
    BOOST_CHECK_NO_THROW(read(fmt::format("[{}]\n", each)));
  config.load<caf::io::middleman>();
  read("[middleman]\nmax-consecutive-reads = 7\n[work-stealing]\naggressive-poll-attempts = 9\n");
  BOOST_TEST(caf::get_or(config, "middleman.max-consecutive-reads", std::size_t{0}) == 7u);
}

BOOST_FIXTURE_TEST_CASE(what_caf_would_pass_over_is_refused_with_what_was_expected, options_file) {
  refuses("[probe]\ndepht = 3\n", "[probe] has no option \"depht\"; it has depth, name, wait");
  refuses("[scheduler]\nmax-thraeds = 3\n", "[scheduler] has no option \"max-thraeds\"; it has ");
  refuses("[probe]\ndepth = \"text\"\n", "[probe] depth is \"text\" but must be int32");
  refuses("[scheduler]\nmax-threads = \"two\"\n", "[scheduler] max-threads is \"two\" but must be ");
  refuses("probe { depth = 3 ", "line 1, column 19 is no INI");
  refuses("[probe\n", "line 1, column 7 is no INI");
  refuses("[probe]\ndepth = 3\nnonsense\n", "line 3, column 9 is no INI: write [section] on a line");
  refuses(std::string{"[probe]\ndepth = 3\n\0depht = 4\n", 30}, "line 3, column 1 is no INI");
  refuses("probe { depth = 42 }\n", "[probe] depth = 42 was not understood");
  BOOST_TEST(config.depth == 1);
}

BOOST_FIXTURE_TEST_CASE(durations_are_taken_up_to_a_hundred_years, options_file) {
  read("[probe]\nwait = 876000h\n");
  BOOST_TEST((config.wait == troupe::caf_duration_max));
  read("[probe]\nwait = -876000h\n");
  BOOST_TEST((config.wait == -troupe::caf_duration_max));
  read("[probe]\nwait = 90min\n");
  BOOST_TEST((config.wait == std::chrono::minutes{90}));
  read("[probe]\nwait = -3us\n");
  BOOST_TEST((config.wait == std::chrono::microseconds{-3}));
}

BOOST_FIXTURE_TEST_CASE(longer_durations_are_refused_wherever_they_stand, options_file) {
  refuses("[probe]\nwait = 876001h\n", "line 2, column 14: the duration 876001h must be from -876000h to 876000h");
  refuses("[probe]\nwait = -777777777777777777h\n", "the duration -777777777777777777h must be from ");
  refuses("[probe]\nwait = 49239354852175598min\n", "to 52560000min");
  refuses("[probe]\nwait = 77777777777777s\n", "to 3153600000s");
  refuses("[probe]\nwait = 7777777777777777ms\n", "to 3153600000000ms");
  refuses("[probe]\nwait = 7777777777777777us\n", "to 3153600000000000us");
  refuses("[probe]\nwait = 7777777777777777777ns\n", "to 3153600000000000000ns");
  // What begins as a duration does, for CAF, too.
  refuses("[probe]\nwait = 777777777777777777hours\n", "777777777777777777h must be");
  refuses("[own.section]\nlist = [1, {a = 777777777777777777h}]\n", "777777777777777777h must be");
  refuses("wait = 777777777777777777h\n", "777777777777777777h must be");
  BOOST_TEST(config.wait.count() == 0);
}

BOOST_FIXTURE_TEST_CASE(what_only_looks_like_a_long_duration_is_taken, options_file) {
  read("; 777777777777777777h\n[probe]\nname = \"777777777777777777h\"\nnumber = 777777777777777777\n");
  BOOST_TEST(config.name == "777777777777777777h");
  BOOST_TEST(config.number == 777777777777777777);
}

BOOST_FIXTURE_TEST_CASE(what_is_nested_too_deep_is_refused_before_the_stack_ends, options_file) {
  const auto lists = [](std::size_t levels) {
    return "[probe-parts]\nx = " + std::string(levels, '[') + std::string(levels, ']') + "\n";
  };
  const auto repeated = [](std::size_t count, const std::string& part) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i) result += part;
    return result;
  };
  read(lists(32));
  const auto why = "nested more than 32 levels deep";
  refuses(lists(33), why);
  refuses(lists(1'000'000), why);
  refuses("[probe-parts]\nx = " + repeated(1'000'000, "{x="), why);
  refuses("[a" + repeated(1'000'000, ".a") + "]\n", why);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_file_is_refused, options_file) {
  for (const auto* const each : {"/nowhere", "/"})
    BOOST_TEST(troupe::refuses<troupe::invalid_argument_error>([&] { troupe::read_caf_options(each, config); },
                                                               "the configuration can't be read from"));
}

BOOST_AUTO_TEST_SUITE_END()
