// Signals that come through a handler, whichever thread the kernel gives them to; signal_source.hpp. SIGUSR1 and
// SIGUSR2 stand for SIGTERM and SIGINT, which would end the tests if one of them failed.
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/cluster/signal_source.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <thread>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(signal_source_suite)

namespace {

/// Only a failing test uses it up.
constexpr int patience_ms = 20'000;

/// The next signal, which is on its way.
int next_of(signal_source& source) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{patience_ms};
  while (std::chrono::steady_clock::now() < deadline) {
    if (const auto signal = source.next()) return *signal;
    pollfd watched{source.descriptor_number(), POLLIN, 0};
    ::poll(&watched, 1, patience_ms);
  }
  return 0;
}

/// What the process does with a signal.
auto handler_of(int signal) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

/// Ignores or blocks a signal for one scope.
class ignored_signal {
 public:
  explicit ignored_signal(int signal) : signal_(signal), before_(std::signal(signal, SIG_IGN)) {}
  ~ignored_signal() { std::signal(signal_, before_); }
  ignored_signal(const ignored_signal&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

class blocked_signal {
 public:
  explicit blocked_signal(int signal) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~blocked_signal() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  blocked_signal(const blocked_signal&) = delete;

 private:
  sigset_t before_;
};

bool is_blocked(int signal) {
  sigset_t now;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return ::sigismember(&now, signal) == 1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_thread_that_began_before_hears_for_all) {
  completion leave;
  std::optional<std::thread> earlier;
  earlier.emplace([&] { leave.block_for(std::chrono::milliseconds{patience_ms}); });
  {
    signal_source source{SIGUSR1};
    // As the kernel may choose it for a signal of the process.
    ::pthread_kill(earlier->native_handle(), SIGUSR1);
    BOOST_TEST(next_of(source) == SIGUSR1);
    BOOST_TEST(!source.next().has_value());
  }
  leave.set();
  earlier->join();
}

BOOST_AUTO_TEST_CASE(programs_that_are_started_meanwhile_are_not_deaf) {
  const signal_source source{SIGUSR1};
  const auto end = std::system("kill -USR1 $$");
  BOOST_TEST(WIFSIGNALED(end));
  BOOST_TEST(WTERMSIG(end) == SIGUSR1);
}

BOOST_AUTO_TEST_CASE(what_the_process_did_with_the_signal_comes_back) {
  static const auto mine = [](int) {};
  const auto before = std::signal(SIGUSR1, mine);
  {
    const signal_source source{SIGUSR1};
    BOOST_TEST((handler_of(SIGUSR1) != static_cast<void (*)(int)>(mine)));
  }
  BOOST_TEST((handler_of(SIGUSR1) == static_cast<void (*)(int)>(mine)));
  std::signal(SIGUSR1, before);
}

BOOST_AUTO_TEST_CASE(a_signal_that_the_process_ignores_is_not_heard_and_stays_ignored) {
  const ignored_signal ignored{SIGUSR1};
  signal_source source{SIGUSR1, SIGUSR2};
  BOOST_TEST((handler_of(SIGUSR1) == SIG_IGN));
  std::raise(SIGUSR1);
  std::raise(SIGUSR2);
  BOOST_TEST(next_of(source) == SIGUSR2);
  BOOST_TEST(!source.next().has_value());
}

BOOST_AUTO_TEST_CASE(a_signal_that_was_blocked_is_heard_and_blocked_again_afterwards) {
  const blocked_signal blocked{SIGUSR1};
  std::raise(SIGUSR1);
  {
    signal_source source{SIGUSR1};
    BOOST_TEST(next_of(source) == SIGUSR1);
  }
  BOOST_TEST(is_blocked(SIGUSR1));
}

BOOST_AUTO_TEST_CASE(several_sources_hear_the_same_signal_whichever_ends_first) {
  auto first = std::make_unique<signal_source>(std::initializer_list<int>{SIGUSR1});
  auto second = std::make_unique<signal_source>(std::initializer_list<int>{SIGUSR1, SIGUSR2});
  std::raise(SIGUSR1);
  BOOST_TEST(next_of(*first) == SIGUSR1);
  BOOST_TEST(next_of(*second) == SIGUSR1);
  std::raise(SIGUSR2);
  BOOST_TEST(!first->next().has_value());
  BOOST_TEST(next_of(*second) == SIGUSR2);
  first.reset();
  std::raise(SIGUSR1);
  BOOST_TEST(next_of(*second) == SIGUSR1);
  second.reset();
  BOOST_TEST((handler_of(SIGUSR1) == SIG_DFL));
}

// As timeout(1) sends it: to the process, and to its group.
BOOST_AUTO_TEST_CASE(a_signal_that_comes_twice_at_once_counts_once_and_another_one_counts) {
  signal_source source{SIGUSR1, SIGUSR2};
  const auto begin = std::chrono::steady_clock::now();
  std::raise(SIGUSR1);
  std::raise(SIGUSR1);
  BOOST_TEST(next_of(source) == SIGUSR1);
  BOOST_TEST(!source.next().has_value());
  std::raise(SIGUSR1);
  // Unless this machine took longer than that.
  const auto again = source.next();
  if (std::chrono::steady_clock::now() - begin < signal_source::repetition) BOOST_TEST(!again.has_value());
  std::raise(SIGUSR2);
  BOOST_TEST(next_of(source) == SIGUSR2);
  std::raise(SIGUSR1);
  BOOST_TEST(next_of(source) == SIGUSR1);
}

BOOST_AUTO_TEST_CASE(all_of_several_signals_are_heard) {
  signal_source source{SIGUSR1, SIGUSR2};
  std::raise(SIGUSR2);
  std::raise(SIGUSR1);
  BOOST_TEST(next_of(source) + next_of(source) == SIGUSR1 + SIGUSR2);
  BOOST_TEST(!source.next().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
