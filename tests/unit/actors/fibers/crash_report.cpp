// What a process says of a signal that ends it; crash_report.hpp. (Fibers and their stacks: cluster.crashes.)
#include <troupe/actors/fibers/crash_report.hpp>
#include <troupe/device/base/internal/descriptor.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(crash_report_suite)

namespace {

struct end_of_child {
  int signal = 0;
  std::string said;
};

/// Of a process that reports crashes, and does this.
template <class Work>
end_of_child end_by(Work work) {
  std::array<int, 2> pipe{};
  BOOST_REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const troupe::descriptor reads{pipe[0]};
  troupe::descriptor writes{pipe[1]};
  const auto child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    for (const auto number : {SIGSEGV, SIGABRT}) ::signal(number, SIG_DFL);
    ::dup2(writes.get(), STDERR_FILENO);
    troupe::report_crashes();
    work();
    ::_exit(0);
  }
  writes.reset();
  end_of_child end;
  std::array<char, 4096> block{};
  for (ssize_t size = 0; (size = ::read(reads.get(), block.data(), block.size())) > 0;)
    end.said.append(block.data(), static_cast<std::size_t>(size));
  auto ended = 0;
  BOOST_REQUIRE(::waitpid(child, &ended, 0) == child);
  end.signal = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
  return end;
}

constexpr auto line = "troupe: SIGABRT ends this process; the thread that it came to runs no closure\n";

}  // namespace

BOOST_AUTO_TEST_CASE(a_signal_that_somebody_sends_ends_the_process_the_first_time) {
  const auto end = end_by([] { ::kill(::getpid(), SIGABRT); });
  BOOST_TEST(end.signal == SIGABRT);
  BOOST_TEST(end.said == line);
}

BOOST_AUTO_TEST_CASE(what_aborts_outside_of_closures_says_so_in_one_line) {
  const auto end = end_by([] { std::abort(); });
  BOOST_TEST(end.signal == SIGABRT);
  BOOST_TEST(end.said == line);
}

BOOST_AUTO_TEST_SUITE_END()
