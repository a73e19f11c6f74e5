// SIGTERM and SIGINT as an orderly end of each role.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(stopping_suite)

namespace {

using namespace std::chrono_literals;

std::optional<variable<std::int64_t>> sum;
std::atomic<bool> computes{true};

/// Waits for what never comes, or computes, as its argument says.
void never_ending(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  sum = strategy.variable("sum", std::int64_t{41});
  coordinator
      .schedule(
          {.worker = 0}, [](variable<std::int64_t> x) { x.assign_add(1); }, *sum)
      .fetch();
  const auto slow = coordinator.schedule({.worker = 1}, [] { sleep_for(1h); });
  say("works");
  if (here.arguments().back() == "computes")
    while (computes) {
    }
  slow.fetch();
}

void last_act(cluster&) {
  say("last act: {}", sum->read());
  sum.reset();
  computes = false;
}

void on_member(member& here) {
  here.at_stop([task = here.task()] { say("{} stops", to_string(task)); });
}

const test_program never_ending_program{
    "never ending", [](int argc, char** argv) {
      return run(argc, argv, {.program = never_ending, .on_member = on_member, .on_stop = last_act, .stop_grace = 5s});
    }};

struct working_cluster : process_cluster {
  explicit working_cluster(const std::string& how)
      : process_cluster{never_ending_program.name(), {.arguments = {how}}} {
    start();
    wait_for("works");
  }
};

void require_last_act(process_cluster& cluster, int signal, const std::vector<task_id>& retired) {
  cluster.wait_for("last act: 42");
  BOOST_TEST(cluster.end_of(chief_task).shell_code() == 128 + signal);
  for (const auto& task : retired) {
    cluster.wait_for(to_string(task) + " stops");
    BOOST_TEST(cluster.end_of(task).success(), to_string(task));
  }
}

/// One process that is the whole cluster, each stream of which is read only as far as a test wants it.
class single_process : public child_process {
 public:
  explicit single_process(const test_program& program, std::vector<std::string> arguments = {})
      : child_process{{this_program(), with_name(program, std::move(arguments)), {{"TF_CONFIG", ""}}}} {}

  /// Reads one of its streams until this text has come.
  static void wait_for(std::string_view text, const descriptor& stream) {
    std::string read;
    char byte = 0;
    pollfd watched{stream.get(), POLLIN, 0};
    while (read.find(text) == std::string::npos) {
      BOOST_REQUIRE_MESSAGE(::poll(&watched, 1, 60'000) == 1, "\"" << text << "\" does not come after " << read);
      BOOST_REQUIRE_MESSAGE(::read(watched.fd, &byte, 1) == 1, "\"" << text << "\" did not come after " << read);
      read += byte;
    }
  }

  std::string end() {
    const auto ended = child_process::wait_for(60s);
    BOOST_REQUIRE(ended.has_value());
    return to_string(*ended);
  }

 private:
  static std::vector<std::string> with_name(const test_program& program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program.name());
    return arguments;
  }
};

/// Its thread is where others wait for input, or for a reader of what they print: in a file that it has locked.
const test_program locks_a_file{"locks a file", [](int argc, char** argv) {
                                  return run(argc, argv, [](cluster&) {
                                    say("works");
                                    ::flockfile(stdout);
                                    std::this_thread::sleep_for(1h);
                                  });
                                }};

/// Its standard error takes no more, since nobody reads it.
void fill_standard_error() {
  ::fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
  while (::write(STDERR_FILENO, "x", 1) == 1) {
  }
  ::fcntl(STDERR_FILENO, F_SETFL, 0);
}

const test_program logs_for_nobody{"logs for nobody", [](int argc, char** argv) {
                                     return run(argc, argv,
                                                {.program =
                                                     [](cluster&) {
                                                       fill_standard_error();
                                                       say("works");
                                                       sleep_for(1h);
                                                     },
                                                 .on_stop =
                                                     [](cluster&) {
                                                       say("last act");
                                                       std::this_thread::sleep_for(1h);
                                                     }});
                                   }};

/// Prints to whom may be gone, and fails with that, as a program does whose disk is full.
const test_program fails_at_its_end{"fails at its end", [](int argc, char** argv) {
                                      return run(argc, argv,
                                                 {.program =
                                                      [](cluster&) {
                                                        try {
                                                          say("works");
                                                          sleep_for(1h);
                                                        } catch (const cancelled_error&) {
                                                          say("saves");
                                                          throw std::runtime_error{"the disk is full"};
                                                        }
                                                      },
                                                  .on_stop = [](cluster&) { say("last act"); }});
                                    }};

}  // namespace

BOOST_AUTO_TEST_CASE(a_program_that_waits_is_interrupted_and_its_last_act_uses_the_cluster) {
  for (const auto signal : {SIGTERM, SIGINT}) {
    working_cluster cluster{"waits"};
    const stopwatch watch;
    cluster.signal(chief_task, signal);
    require_last_act(cluster, signal, {worker_task(0), worker_task(1), server_task(0)});
    BOOST_TEST(watch.elapsed().count() < 2500);
  }
}

BOOST_AUTO_TEST_CASE(the_last_act_of_a_program_that_computes_comes_after_half_of_the_grace_time) {
  working_cluster cluster{"computes"};
  const stopwatch watch;
  cluster.signal(chief_task, SIGTERM);
  require_last_act(cluster, SIGTERM, {worker_task(0), worker_task(1), server_task(0)});
  BOOST_TEST(watch.elapsed().count() >= 2400);
  BOOST_TEST(watch.elapsed().count() < 5000);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_told_to_end_serves_the_last_act_of_the_chief) {
  working_cluster cluster{"waits"};
  cluster.signal(server_task(0), SIGTERM);
  cluster.wait_for("SIGTERM: ending within 5000 ms");
  cluster.signal(chief_task, SIGTERM);
  require_last_act(cluster, SIGTERM, {worker_task(0), worker_task(1)});
  BOOST_TEST(cluster.end_of(server_task(0)).shell_code() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_told_to_end_says_so_to_the_chief_and_does_what_is_to_be_done) {
  working_cluster cluster{"waits"};
  cluster.signal(worker_task(1), SIGTERM);
  cluster.wait_for("/job:worker/task:1 is lost; caused by cancelled: this process was told to end by SIGTERM");
  cluster.wait_for("/job:worker/task:1 stops");
  BOOST_TEST(cluster.end_of(worker_task(1)).shell_code() == 128 + SIGTERM);
  cluster.signal(chief_task, SIGTERM);
  require_last_act(cluster, SIGTERM, {worker_task(0), server_task(0)});
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_at_once) {
  working_cluster cluster{"computes"};
  cluster.signal(chief_task, SIGTERM);
  cluster.wait_for("a second signal ends at once");
  cluster.signal(chief_task, SIGINT);
  cluster.wait_for("the process ends now: a second signal");
  BOOST_TEST(cluster.end_of(chief_task).shell_code() == 128 + SIGINT);
}

BOOST_AUTO_TEST_CASE(what_no_line_can_be_written_for_ends_by_its_grace_time_and_by_a_second_signal) {
  single_process late{locks_a_file, {"--troupe-stop-grace", "0.3"}};
  single_process::wait_for("works", late.standard_output());
  late.signal(SIGTERM);
  BOOST_TEST(late.end() == "exit code 143");
  single_process twice{locks_a_file, {"--troupe-stop-grace", "3600"}};
  single_process::wait_for("works", twice.standard_output());
  twice.signal(SIGTERM);
  single_process::wait_for("a second signal ends at once", twice.standard_error());
  twice.signal(SIGINT);
  BOOST_TEST(twice.end() == "exit code 130");
}

BOOST_AUTO_TEST_CASE(a_log_that_nobody_reads_keeps_no_signal_from_being_heard) {
  single_process unread{logs_for_nobody, {"--troupe-stop-grace", "3600"}};
  single_process::wait_for("works", unread.standard_output());
  unread.signal(SIGTERM);
  single_process::wait_for("last act", unread.standard_output());
  unread.signal(SIGINT);
  BOOST_TEST(unread.end() == "exit code 130");
}

// `program | tee log`: the same Ctrl-C has ended tee.
BOOST_AUTO_TEST_CASE(a_reader_that_is_gone_keeps_no_program_from_its_orderly_end) {
  single_process unread{fails_at_its_end};
  single_process::wait_for("works", unread.standard_output());
  unread.standard_output().reset();
  unread.signal(SIGINT);
  BOOST_TEST(unread.end() == "exit code 130");
}

BOOST_AUTO_TEST_CASE(what_goes_wrong_after_a_signal_is_said) {
  single_process failing{fails_at_its_end};
  single_process::wait_for("works", failing.standard_output());
  failing.signal(SIGTERM);
  single_process::wait_for("the program failed: std::runtime_error: the disk is full", failing.standard_error());
  BOOST_TEST(failing.end() == "exit code 143");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
