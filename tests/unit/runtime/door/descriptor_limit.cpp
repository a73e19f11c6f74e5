// The limit of descriptors of processes that listen, and of their children.
#include <troupe/runtime/door/descriptor_limit.hpp>
#include <troupe/runtime/launch/child_process.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

using namespace troupe;

// The limit is raised once in a process: a case below runs this in one of its own, whose soft limit is 100.
BOOST_AUTO_TEST_SUITE(soft_limit_of_100, *boost::unit_test::disabled())

BOOST_AUTO_TEST_CASE(is_raised) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST(descriptor_limit() == 100u);
  raise_descriptor_limit();
  BOOST_TEST(descriptor_limit() > 100u);
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  BOOST_TEST(after.rlim_cur == before.rlim_max);
  BOOST_TEST(after.rlim_max == before.rlim_max);
  BOOST_TEST(descriptor_limit_for_children().rlim_cur == 100u);
  child_process shell{{"/bin/sh", {"-c", "test $(ulimit -Sn) = 100"}, {}}};
  const auto ended = shell.wait_for(std::chrono::seconds{20});
  BOOST_REQUIRE(ended.has_value());
  BOOST_TEST(to_string(*ended) == "exit code 0");

  auto lowered = after;
  lowered.rlim_cur = 90;
  ::setrlimit(RLIMIT_NOFILE, &lowered);
  raise_descriptor_limit();
  BOOST_TEST(descriptor_limit() == 90u);
  BOOST_TEST(descriptor_limit_for_children().rlim_cur == 90u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(descriptor_limit_suite)

BOOST_AUTO_TEST_CASE(the_soft_limit_becomes_the_hard_one_once_and_children_get_it_back) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto command = fmt::format("ulimit -Sn 100 && exec '{}' --run_test=soft_limit_of_100", self);
  BOOST_TEST(std::system(command.c_str()) == 0);
}

BOOST_AUTO_TEST_CASE(a_process_that_raised_nothing_gives_its_children_what_it_has) {
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  BOOST_TEST(descriptor_limit_for_children().rlim_max == now.rlim_max);
}

BOOST_AUTO_TEST_SUITE_END()
