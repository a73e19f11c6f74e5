// Closures that end their worker's process, under the real launcher: each life says what ended it, and the job ends
// with the closure's name before the launcher gives the workers up.
#include "test_program.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/launch/launcher.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(crashes_suite)

namespace {

using namespace std::chrono_literals;

constexpr int gives_up_line = __LINE__ + 1;
int gives_up(int) { std::abort(); }

/// Needs about `kibibytes` of the stack.
int goes_deep(int kibibytes) {
  std::array<char, 1024> frame{};
  // Else the compiler does without the frame.
  volatile char* const used = frame.data();
  *used = static_cast<char>(kibibytes);
  return kibibytes == 0 ? 0 : goes_deep(kibibytes - 1) + *used;
}

int follows_null(int) {
  volatile int* const nothing = nullptr;
  return *nothing;
}

int rests(int number) {
  sleep_for(20ms);
  return number;
}

void run_beside_others(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  std::vector<remote_value<int>> others;
  for (int i = 0; i < 8; ++i) others.push_back(coordinator.schedule<rests>(i));
  const auto guilty = coordinator.schedule<gives_up>(1);
  for (int i = 0; i < 8; ++i) others.push_back(coordinator.schedule<rests>(i));
  for (const auto& each : others) each.fetch(60s);
  say("all others have ended");
  guilty.fetch(60s);
}

const chief_program crashes_beside_others{"crashes beside others", run_beside_others};

constexpr auto stack_kibibytes = 1024;

const chief_program crashing_program{"crashing", [](cluster& here) {
                                       cluster_coordinator coordinator{parameter_server_strategy{here}};
                                       const auto& what = here.arguments().back();
                                       // Half of the stack is no problem.
                                       require(coordinator.schedule<goes_deep>(stack_kibibytes / 2).fetch() != -1,
                                               "half of the stack");
                                       if (what == "gives_up") coordinator.schedule<gives_up>(1).fetch();
                                       if (what == "goes_deep")
                                         coordinator.schedule<goes_deep>(2 * stack_kibibytes).fetch();
                                       if (what == "follows_null") coordinator.schedule<follows_null>(1).fetch();
                                     }};

struct end_of_job {
  int code = 0;
  std::string text;
};

end_of_job run_job(std::vector<std::string> arguments) {
  end_of_job end;
  launcher_options options;
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.arguments = std::move(arguments);
  options.servers = 0;
  options.restart_delay = 1ms;
  options.output = [&](output_stream, std::string_view text) { end.text += text; };
  launcher job{options};
  job.start();
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (job.poll_once(50ms)) BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < deadline, end.text);
  end.code = job.exit_code().value();
  return end;
}

void require_text(const end_of_job& end, const std::string& text) {
  BOOST_TEST((end.text.find(text) != std::string::npos), "\"" << text << "\" is missing in\n" << end.text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_closure_that_aborts_its_workers_is_named_and_ends_the_job_with_a_code_of_its_own) {
  const auto end = run_job({crashing_program.name(), "gives_up"});
  BOOST_TEST(end.code == exit_code::closure_ends_workers);
  require_text(end, "troupe: SIGABRT ends this process, which runs");
  require_text(end, "closures of /job:worker/task:0 run again elsewhere: ");
  require_text(end, "was lost with its worker 8 times; it ran alone at last, so that it is most likely what ends them");
  const auto require_in_line = [&](const char* part, const std::string& what) {
    const auto line = end.text.substr(end.text.find(part), 400);
    BOOST_TEST((line.substr(0, line.find('\n')).find(what) != std::string::npos), line);
  };
  require_in_line("troupe: SIGABRT", "gives_up(int)");
  for (const auto part : {"run again elsewhere: ", "the program failed: "})
    require_in_line(part, fmt::format("gives_up(int) at crashes.cpp:{}", gives_up_line));
}

BOOST_AUTO_TEST_CASE(closures_beside_one_that_aborts_its_workers_end_all_the_same_and_are_not_blamed) {
  const auto end = run_job({crashes_beside_others.name()});
  BOOST_TEST(end.code == exit_code::closure_ends_workers);
  require_text(end, "all others have ended");
  const auto line = end.text.substr(end.text.find("the program failed: "), 200);
  BOOST_TEST((line.find("gives_up(int) at crashes.cpp") != std::string::npos), line);
}

BOOST_AUTO_TEST_CASE(a_stack_that_overflows_is_said_with_its_size_and_the_function) {
  const auto end = run_job({crashing_program.name(), "goes_deep"});
  BOOST_TEST(end.code == exit_code::closure_ends_workers);
  require_text(end, "troupe: a fiber overflowed its stack of 1024 KiB; raise stack_bytes");
  require_text(end, "killed by SIGSEGV");
}

BOOST_AUTO_TEST_CASE(a_fault_elsewhere_is_not_taken_for_an_overflow) {
  const auto end = run_job({crashing_program.name(), "follows_null"});
  BOOST_TEST(end.code == exit_code::closure_ends_workers);
  require_text(end, "troupe: SIGSEGV ends this process, which runs");
  BOOST_TEST(end.text.find("overflowed") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
