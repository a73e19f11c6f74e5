#include "support/temporary_file.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/child_process.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include <poll.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(child_process_suite)

namespace {

using namespace std::chrono_literals;
using troupe::child_process;
using troupe::child_process_options;
using troupe::temporary_file;

constexpr auto patience = 20'000ms;

child_process_options shell(std::string script) { return {"/bin/sh", {"-c", std::move(script)}, {}}; }

/// All that comes from a descriptor until the child closes it.
std::string read_all(const troupe::descriptor& file) {
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    pollfd watched{file.get(), POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(patience.count())) <= 0) return text + " (and no end)";
    const auto count = ::read(file.get(), block.data(), block.size());
    if (count <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(output_error_arguments_and_environment_go_the_right_way) {
  auto options = shell("echo \"$1 $GREETING\"; echo problem >&2; read line || echo \"no input\"");
  options.arguments.insert(options.arguments.end(), {"name", "two words"});
  options.environment["GREETING"] = "hello";
  child_process child{options};
  BOOST_TEST(read_all(child.standard_output()) == "two words hello\nno input\n");
  BOOST_TEST(read_all(child.standard_error()) == "problem\n");
  BOOST_TEST(child.wait_for(patience).value().success());
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_given_replaces_the_inherited_one) {
  ::setenv("TROUPE_TEST_VARIABLE", "inherited", 1);
  auto options = shell("env | grep -c '^TROUPE_TEST_VARIABLE='; echo $TROUPE_TEST_VARIABLE");
  options.environment["TROUPE_TEST_VARIABLE"] = "given";
  child_process child{options};
  BOOST_TEST(read_all(child.standard_output()) == "1\ngiven\n");
  ::unsetenv("TROUPE_TEST_VARIABLE");
}

BOOST_AUTO_TEST_CASE(the_end_is_described_as_code_or_signal) {
  child_process failed{shell("exit 3")};
  const auto code = failed.wait_for(patience).value();
  BOOST_TEST(to_string(code) == "exit code 3");
  BOOST_TEST(code.shell_code() == 3);
  BOOST_TEST(!code.success());
  child_process killed{shell("kill -KILL $$")};
  const auto signal = killed.wait_for(patience).value();
  BOOST_TEST(to_string(signal) == "killed by SIGKILL");
  BOOST_TEST(signal.shell_code() == 137);
  BOOST_TEST((killed.poll() == signal));
}

BOOST_AUTO_TEST_CASE(a_running_child_has_no_exit_status_until_it_is_terminated) {
  child_process child{shell("exec sleep 1000")};
  BOOST_TEST(!child.poll().has_value());
  BOOST_TEST(!child.wait_for(1ms).has_value());
  BOOST_TEST(to_string(child.terminate(patience)) == "killed by SIGTERM");
}

BOOST_AUTO_TEST_CASE(termination_kills_what_ignores_it_and_wakes_what_is_stopped) {
  child_process stubborn{shell("trap '' TERM; echo ready; while :; do sleep 1000; done")};
  std::array<char, 6> ready{};
  pollfd watched{stubborn.standard_output().get(), POLLIN, 0};
  BOOST_REQUIRE(::poll(&watched, 1, static_cast<int>(patience.count())) == 1);
  BOOST_REQUIRE(::read(watched.fd, ready.data(), ready.size()) == 6);
  BOOST_TEST(to_string(stubborn.terminate(20ms)) == "killed by SIGKILL");
  child_process stopped{shell("exec sleep 1000")};
  stopped.signal(SIGSTOP);
  BOOST_TEST(to_string(stopped.terminate(patience)) == "killed by SIGTERM");
}

BOOST_AUTO_TEST_CASE(a_child_does_not_inherit_blocked_or_ignored_signals) {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto* handler = std::signal(SIGTERM, SIG_IGN);
  child_process child{shell("exec sleep 1000")};
  std::signal(SIGTERM, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  BOOST_TEST(to_string(child.terminate(patience)) == "killed by SIGTERM");
}

BOOST_AUTO_TEST_CASE(a_program_that_cannot_be_executed_is_an_error_that_says_why) {
  BOOST_CHECK_THROW(child_process{child_process_options{}}, troupe::invalid_argument_error);
  BOOST_CHECK_THROW((child_process{{"troupe-has-no-such-program", {}, {}}}), troupe::not_found_error);
  BOOST_CHECK_THROW((child_process{{"./troupe-has-no-such-program", {}, {}}}), troupe::not_found_error);
  BOOST_CHECK_THROW((child_process{{"/", {}, {}}}), troupe::not_found_error);
  const temporary_file plain{"echo"};
  BOOST_CHECK_THROW((child_process{{plain.path(), {}, {}}}), troupe::permission_denied_error);
  const temporary_file formless{"\x7f neither a program nor a script", S_IRWXU};
  BOOST_CHECK_THROW((child_process{{formless.path(), {}, {}}}), troupe::failed_precondition_error);
  const temporary_file orphaned{"#!/troupe/has/no/such/interpreter\n", S_IRWXU};
  BOOST_CHECK_THROW((child_process{{orphaned.path(), {}, {}}}), troupe::not_found_error);
}

BOOST_AUTO_TEST_CASE(a_program_is_looked_up_in_path) {
  BOOST_TEST(troupe::find_program("sh").ends_with("/sh"));
  BOOST_TEST(troupe::find_program("/bin/sh") == "/bin/sh");
}

BOOST_AUTO_TEST_CASE(a_child_that_is_dropped_is_killed) {
  pid_t pid = 0;
  {
    child_process child{shell("exec sleep 1000")};
    pid = child.pid();
  }
  BOOST_TEST(::kill(pid, 0) != 0);
}

BOOST_AUTO_TEST_SUITE_END()
