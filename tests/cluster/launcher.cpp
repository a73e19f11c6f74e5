#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/launch/child_process.hpp>
#include <troupe/runtime/launch/launcher.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(launcher_suite)

namespace {

using namespace std::chrono_literals;
using troupe::launcher;
using troupe::launcher_options;
using troupe::task_id;

const task_id chief{"chief", 0};
const task_id worker_0{"worker", 0};
const task_id worker_1{"worker", 1};
const task_id server_0{"ps", 0};

/// What a test waits for must happen within this time; only a failing test uses it up.
constexpr auto patience = 20s;

/// A program for the shell with one part for each role. A part that is empty waits until it is ended.
std::string by_role(std::string chief_part, std::string worker_part = {}, std::string server_part = {}) {
  const auto part = [](std::string text) { return text.empty() ? std::string{"exec sleep 1000"} : text; };
  return fmt::format(R"(case "$TF_CONFIG" in
    *'"type":"chief"'*) {} ;;
    *'"type":"worker"'*) {} ;;
    *) {} ;;
  esac)",
                     part(std::move(chief_part)), part(std::move(worker_part)), part(std::move(server_part)));
}

/// A launcher whose output is kept, and the ways in which tests wait for it.
class recorded_launcher {
 public:
  explicit recorded_launcher(const std::string& script, launcher_options options = {})
      : cluster(complete(options, script)) {}

  void run_to_end() {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (cluster.poll_once(50ms)) BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < deadline, all_output());
  }

  template <class Condition>
  void run_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      BOOST_REQUIRE_MESSAGE(cluster.poll_once(50ms), "the job ended early:\n" << all_output());
      BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < deadline, all_output());
    }
  }

  void run_until_output(const std::string& text) {
    run_until([&] { return all_output().find(text) != std::string::npos; });
  }

  std::string all_output() const { return output[0] + output[1]; }

  std::array<std::string, 2> output;  ///< standard output and standard error; before `cluster`, which writes to it
  launcher cluster;

 private:
  launcher_options complete(launcher_options options, const std::string& script) {
    options.program = "/bin/sh";
    options.arguments = {"-c", script};
    options.leave_grace = 10ms;
    options.restart_delay = 1ms;
    options.output = [this](troupe::output_stream stream, std::string_view text) {
      output[static_cast<std::size_t>(stream)] += text;
    };
    return options;
  }
};

/// Whether a process runs. A zombie does not: its new parent may be slow to collect it.
bool runs(pid_t pid) {
  std::ifstream file{fmt::format("/proc/{}/stat", pid)};
  std::string line;
  if (!std::getline(file, line)) return false;
  const auto state = line.find(") ");
  return state != std::string::npos && line[state + 2] != 'Z' && line[state + 2] != 'X';
}

bool ends(pid_t pid) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (runs(pid) && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 5);
  return !runs(pid);
}

/// Calls `body` in a forked process, which exits with its result.
template <class Body>
pid_t in_child(Body body) {
  const auto pid = ::fork();
  if (pid != 0) return pid;
  auto code = 99;
  try {
    code = body();
  } catch (...) {
  }
  ::_exit(code);
}

int shell_code(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string read_line(int file) {
  std::string line;
  char byte = 0;
  while (::read(file, &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_jobs_exit_code_is_the_chiefs_and_lines_carry_the_name_of_their_task) {
  recorded_launcher job{by_role("echo hello; echo trouble >&2; exit 7")};
  job.cluster.start();
  const auto worker = job.cluster.pid(worker_0).value();
  const auto server = job.cluster.pid(server_0).value();
  job.run_to_end();
  BOOST_TEST(job.cluster.exit_code().value() == 7);
  BOOST_TEST(job.output[0] == "[chief] hello\n");
  BOOST_TEST(job.output[1].find("[chief] trouble\n") != std::string::npos);
  BOOST_TEST(!runs(worker));
  BOOST_TEST(!runs(server));
  BOOST_TEST(!job.cluster.poll_once(0ms));
}

BOOST_AUTO_TEST_CASE(every_task_learns_the_cluster_and_its_own_place_in_it) {
  launcher_options options;
  options.workers = 2;
  options.servers = 2;
  const std::string tell = "echo \"$TF_CONFIG\"; exec sleep 1000";
  recorded_launcher job{by_role(tell, tell, tell), options};
  job.cluster.start();
  job.run_until([&] { return std::count(job.output[0].begin(), job.output[0].end(), '\n') == 5; });
  std::set<std::string> told;
  std::istringstream lines{job.output[0]};
  for (std::string line; std::getline(lines, line);) {
    const auto config = troupe::parse_tf_config(line.substr(line.find("] ") + 2));
    BOOST_TEST((config.cluster == job.cluster.cluster()));
    told.insert(line.substr(0, line.find("] ") + 2) + to_string(config.task));
  }
  const std::set<std::string> expected{"[chief] /job:chief/task:0", "[worker 0] /job:worker/task:0",
                                       "[worker 1] /job:worker/task:1", "[ps 0] /job:ps/task:0",
                                       "[ps 1] /job:ps/task:1"};
  BOOST_TEST(told == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(with_tls_each_task_has_the_certificate_of_its_role_and_no_secret) {
  const std::string script =
      R"(openssl x509 -noout -ext subjectAltName -in "$TROUPE_TLS_CERTIFICATE"; echo "secret:$TROUPE_SECRET_FILE."; )"
      "exec sleep 1000";
  recorded_launcher job{by_role(script, script), {.servers = 0, .tls = true}};
  job.cluster.start();
  for (const auto* const text : {"URI:troupe://job/chief", "URI:troupe://job/worker", "[chief] secret:.\n",
                                 "[worker 0] secret:.\n", "[worker 1] secret:.\n"})
    job.run_until_output(text);
}

BOOST_AUTO_TEST_CASE(with_tls_and_certificates_of_the_user_s_own_nothing_starts) {
  BOOST_CHECK_EXCEPTION((launcher{{.program = "/bin/sh", .environment = {{"TROUPE_TLS_KEY", "own"}}, .tls = true}}),
                        troupe::invalid_argument_error, [](const auto& refused) {
                          return refused.message().find("TROUPE_TLS_KEY") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(a_task_can_listen_on_its_port_while_the_launcher_holds_it) {
  recorded_launcher job{by_role("exit 0")};
  const auto& address = job.cluster.cluster().address(worker_0);
  const auto file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto on = 1;
  ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(address.port);
  ::inet_pton(AF_INET, address.host.c_str(), &name.sin_addr);
  BOOST_TEST(::bind(file, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0);
  BOOST_TEST(::listen(file, 1) == 0);
  ::close(file);
}

BOOST_AUTO_TEST_CASE(a_killed_worker_and_a_killed_server_are_started_again_and_no_other_task_is) {
  recorded_launcher job{by_role("")};
  job.cluster.start();
  for (const auto& task : {worker_1, server_0}) {
    const auto before = job.cluster.pid(task).value();
    job.cluster.kill(task, SIGKILL);
    job.run_until([&] { return job.cluster.pid(task).value_or(before) != before; });
    BOOST_TEST(job.cluster.restarts(task) == 1);
  }
  BOOST_TEST(job.cluster.restarts(worker_0) == 0);
  BOOST_TEST(job.output[1].find("[troupe] worker 1 ended: killed by SIGKILL; starting it again") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_task_that_was_taken_down_stays_down_until_it_is_brought_back_and_that_is_not_counted) {
  recorded_launcher job{by_role("")};
  job.cluster.start();
  const auto down = job.cluster.pid(worker_0).value();
  job.cluster.take_down(worker_0);
  job.run_until([&] { return !job.cluster.pid(worker_0).has_value(); });
  BOOST_TEST(!runs(down));
  BOOST_CHECK_THROW(job.cluster.take_down(worker_0), troupe::failed_precondition_error);
  // Somebody else is started again meanwhile, it isn't.
  const auto other = job.cluster.pid(worker_1).value();
  job.cluster.kill(worker_1, SIGKILL);
  job.run_until([&] { return job.cluster.pid(worker_1).value_or(other) != other; });
  BOOST_TEST(!job.cluster.pid(worker_0).has_value());
  job.cluster.bring_back(worker_0);
  job.run_until([&] { return job.cluster.pid(worker_0).has_value(); });
  BOOST_TEST(job.cluster.restarts(worker_0) == 0);
  BOOST_CHECK_THROW(job.cluster.bring_back(worker_0), troupe::failed_precondition_error);
  BOOST_CHECK_THROW(job.cluster.take_down(chief), troupe::invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_task_that_is_brought_back_while_its_process_ends_is_started_again_at_once) {
  launcher_options options;
  options.workers = 1;
  options.restarts_max = 0;
  recorded_launcher job{by_role(""), options};
  job.cluster.start();
  const auto before = job.cluster.pid(worker_0).value();
  job.cluster.take_down(worker_0);
  job.cluster.bring_back(worker_0);
  job.run_until([&] { return job.cluster.pid(worker_0).value_or(before) != before; });
  BOOST_TEST(job.cluster.restarts(worker_0) == 0);
  // From here on its end is an end like any other.
  job.cluster.kill(worker_0, SIGKILL);
  job.run_until_output("no worker is left");
}

BOOST_AUTO_TEST_CASE(each_task_runs_in_its_place) {
  launcher_options options;
  options.workers = 1;
  options.place = [](const task_id& task) {
    return troupe::task_place{{"127.0.0.1", static_cast<std::uint16_t>(task.job == "chief" ? 7001 : 7002)},
                              {"env", "PLACE=" + task.job}};
  };
  const std::string tell = "echo \"$PLACE\"; exec sleep 1000";
  recorded_launcher job{by_role(tell, tell, tell), options};
  job.cluster.start();
  job.run_until([&] { return std::count(job.output[0].begin(), job.output[0].end(), '\n') == 3; });
  for (const auto* line : {"[chief] chief\n", "[worker 0] worker\n", "[ps 0] ps\n"})
    BOOST_TEST(job.output[0].find(line) != std::string::npos, job.output[0]);
  BOOST_TEST(job.cluster.cluster().address(chief).port == 7001);
}

BOOST_AUTO_TEST_CASE(a_task_that_fails_again_and_again_is_given_up_and_without_a_worker_the_job_stops) {
  launcher_options options;
  options.workers = 1;
  options.restarts_max = 2;
  recorded_launcher job{by_role("", "exit 3"), options};
  job.cluster.start();
  job.run_to_end();
  BOOST_TEST(job.cluster.restarts(worker_0) == 2);
  // Nobody has told it to end.
  BOOST_TEST(job.cluster.exit_code().value() == EXIT_FAILURE);
  BOOST_TEST(job.output[1].find("worker 0 ended: exit code 3; not started again") != std::string::npos);
  BOOST_TEST(job.output[1].find("no worker is left") != std::string::npos);
}

/// F21: a job of weeks lost a worker for good at its 11th fault.
BOOST_AUTO_TEST_CASE(a_task_that_has_run_for_long_counts_its_restarts_anew) {
  launcher_options options;
  options.workers = 1;
  options.restarts_max = 2;
  options.restart_reset_time = 0ms;
  recorded_launcher job{by_role("", "exit 3"), options};
  job.cluster.start();
  const auto restarts = [&](std::string_view number) {
    std::size_t count = 0;
    for (auto at = job.output[1].find(number); at != std::string::npos; at = job.output[1].find(number, at + 1))
      ++count;
    return count;
  };
  job.run_until([&] { return restarts("(1 of 2)") == 4; });
  BOOST_TEST(restarts("(2 of 2)") == 0u);
}

BOOST_AUTO_TEST_CASE(the_job_goes_on_without_a_lost_worker_while_another_one_lives) {
  launcher_options options;
  options.restarts_max = 0;
  recorded_launcher job{by_role(""), options};
  job.cluster.start();
  job.cluster.kill(worker_0, SIGKILL);
  job.run_until([&] { return !job.cluster.pid(worker_0).has_value(); });
  BOOST_TEST(job.cluster.poll_once(0ms));
  BOOST_TEST(job.cluster.pid(worker_1).has_value());
  BOOST_TEST(job.cluster.pid(chief).has_value());
}

BOOST_AUTO_TEST_CASE(a_worker_that_has_finished_with_0_is_not_started_again) {
  recorded_launcher job{by_role("", "exit 0")};
  job.cluster.start();
  job.run_until([&] { return !job.cluster.pid(worker_0).has_value() && !job.cluster.pid(worker_1).has_value(); });
  BOOST_TEST(job.cluster.restarts(worker_0) == 0);
  job.cluster.kill(chief, SIGKILL);
  job.run_to_end();
  BOOST_TEST(job.cluster.exit_code().value() == 128 + SIGKILL);
}

BOOST_AUTO_TEST_CASE(what_fails_after_the_chiefs_end_is_not_started_again) {
  recorded_launcher job{by_role("", "trap 'exit 3' TERM; echo ready; sleep 1000 & wait")};
  job.cluster.start();
  job.run_until([&] {
    return job.output[0].find("[worker 0] ready") != std::string::npos &&
           job.output[0].find("[worker 1] ready") != std::string::npos;
  });
  job.cluster.kill(chief, SIGTERM);
  job.run_to_end();
  BOOST_TEST(job.cluster.restarts(worker_0) == 0);
  BOOST_TEST(job.output[1].find("starting it again") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_stop_request_reaches_the_chief_which_may_choose_its_exit_code) {
  recorded_launcher job{by_role("trap 'echo bye; exit 5' INT; echo ready; sleep 1000 & wait")};
  job.cluster.start();
  job.run_until_output("[chief] ready");
  job.cluster.request_stop(SIGINT);
  job.run_to_end();
  BOOST_TEST(job.cluster.exit_code().value() == 5);
  BOOST_TEST(job.output[0].find("[chief] bye\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_task_that_ignores_sigterm_is_killed_after_the_grace_time) {
  launcher_options options;
  options.stop_grace = 50ms;
  recorded_launcher job{by_role("", "trap '' TERM; echo ready; while :; do sleep 1000; done"), options};
  job.cluster.start();
  job.run_until([&] {
    return job.output[0].find("[worker 0] ready") != std::string::npos &&
           job.output[0].find("[worker 1] ready") != std::string::npos;
  });
  const auto worker = job.cluster.pid(worker_0).value();
  job.cluster.kill(chief, SIGTERM);
  job.run_to_end();
  BOOST_TEST(!runs(worker));
}

BOOST_AUTO_TEST_CASE(a_second_stop_request_kills_at_once) {
  launcher_options options;
  options.stop_grace = 1h;
  recorded_launcher job{by_role("trap '' INT; echo ready; while :; do sleep 1000; done"), options};
  job.cluster.start();
  job.run_until_output("[chief] ready");
  job.cluster.request_stop(SIGINT);
  BOOST_TEST(job.cluster.poll_once(0ms));
  job.cluster.request_stop(SIGINT);
  job.run_to_end();
  BOOST_TEST(job.cluster.exit_code().value() == 128 + SIGKILL);
}

BOOST_AUTO_TEST_CASE(the_first_request_is_no_second_one_for_a_job_that_stops_for_want_of_workers) {
  launcher_options options;
  options.workers = 1;
  options.restarts_max = 0;
  options.stop_grace = 1h;
  recorded_launcher job{
      by_role("trap 'echo asked' TERM; trap 'exit 5' USR1; echo ready; while :; do sleep 1000 & wait; done"), options};
  job.cluster.start();
  job.run_until_output("[chief] ready");
  job.cluster.kill(worker_0, SIGKILL);
  job.run_until_output("[chief] asked");
  job.cluster.request_stop(SIGINT);
  BOOST_TEST(job.cluster.poll_once(0ms));
  job.cluster.kill(chief, SIGUSR1);
  job.run_to_end();
  BOOST_TEST(job.cluster.exit_code().value() == 5);
}

BOOST_AUTO_TEST_CASE(a_frozen_task_does_not_hold_up_the_end) {
  launcher_options options;
  options.stop_grace = 1h;
  recorded_launcher job{by_role(""), options};
  job.cluster.start();
  job.cluster.kill(worker_0, SIGSTOP);
  job.cluster.kill(chief, SIGTERM);
  job.run_to_end();
  BOOST_TEST(job.cluster.exit_code().value() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(processes_that_a_task_has_started_end_with_it) {
  recorded_launcher job{by_role("sleep 1000 & echo \"child $!\"")};
  job.cluster.start();
  job.run_to_end();
  BOOST_TEST(job.cluster.exit_code().value() == 0);
  const auto child = std::stoi(job.output[0].substr(job.output[0].find("child ") + 6));
  BOOST_TEST(ends(child));
}

BOOST_AUTO_TEST_CASE(lines_without_an_end_and_lines_of_any_length_come_through) {
  recorded_launcher job{by_role("head -c 100000 /dev/zero | tr '\\0' x; echo; printf 'no end of line'")};
  job.cluster.start();
  job.run_to_end();
  BOOST_TEST(std::count(job.output[0].begin(), job.output[0].end(), 'x') == 100'000);
  BOOST_TEST(job.output[0].ends_with("[chief] no end of line\n"));
}

BOOST_AUTO_TEST_CASE(only_the_chief_is_told_to_draw_a_bar_and_only_on_a_terminal) {
  const std::string tell = "echo \"$TROUPE_PROGRESS\"; exec sleep 1000";
  launcher_options options;
  options.workers = 1;
  for (const auto terminal : {false, true}) {
    options.is_terminal = {false, terminal};
    recorded_launcher job{by_role(tell, tell), options};
    job.cluster.start();
    job.run_until([&] { return std::count(job.output[0].begin(), job.output[0].end(), '\n') == 2; });
    BOOST_TEST(job.output[0].find("[worker 0] lines\n") != std::string::npos);
    BOOST_TEST(job.output[0].find(terminal ? "[chief] bar\n" : "[chief] lines\n") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(how_progress_is_shown_is_the_users_choice_if_there_is_one) {
  const std::string tell = "echo \"$TROUPE_PROGRESS\"; exec sleep 1000";
  launcher_options options;
  options.workers = 1;
  options.is_terminal = {true, true};
  options.environment["TROUPE_PROGRESS"] = "lines";
  recorded_launcher job{by_role(tell, tell), options};
  job.cluster.start();
  job.run_until([&] { return std::count(job.output[0].begin(), job.output[0].end(), '\n') == 2; });
  BOOST_TEST(job.output[0].find("bar") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(when_the_launcher_is_killed_its_tasks_die) {
  std::array<int, 2> pipe{};
  BOOST_REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const auto owner = in_child([&] {
    recorded_launcher job{by_role("")};
    job.cluster.start();
    const auto text = fmt::format("{}\n", job.cluster.pid(worker_0).value());
    if (::write(pipe[1], text.data(), text.size()) < 0) return 1;
    while (job.cluster.poll_once(1h)) {
    }
    return 0;
  });
  ::close(pipe[1]);
  const auto worker = std::stoi(read_line(pipe[0]));
  BOOST_TEST(runs(worker));
  ::kill(owner, SIGKILL);
  BOOST_TEST(shell_code(owner) == 128 + SIGKILL);
  BOOST_TEST(ends(worker));
  ::close(pipe[0]);
}

/// A launcher in a process of its own, whose standard output this one reads.
class forked_launcher {
 public:
  explicit forked_launcher(
      const std::string& script, void (*prepare)() = [] {}) {
    std::array<int, 2> pipe{};
    BOOST_REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    read_ = troupe::descriptor{pipe[0]};
    const troupe::descriptor write{pipe[1]};
    pid_ = in_child([&] {
      read_.reset();  // else the launcher itself would read its output, or could
      ::dup2(write.get(), STDOUT_FILENO);
      prepare();
      launcher_options options;
      options.program = "/bin/sh";
      options.arguments = {"-c", script};
      options.leave_grace = 10ms;
      return launcher{options}.run();
    });
  }

  std::string next_line() { return read_line(read_.get()); }
  void stop_reading() { read_.reset(); }
  void signal(int number) { ::kill(pid_, number); }
  int code() { return shell_code(pid_); }

 private:
  troupe::descriptor read_;
  pid_t pid_ = 0;
};

BOOST_AUTO_TEST_CASE(run_forwards_signals_and_returns_the_chiefs_code) {
  forked_launcher job{by_role("trap 'exit 6' TERM; echo ready; sleep 1000 & wait")};
  BOOST_TEST(job.next_line() == "[chief] ready");
  job.signal(SIGTERM);
  BOOST_TEST(job.code() == 6);
}

BOOST_AUTO_TEST_CASE(a_terminal_that_goes_is_for_the_chief_what_sigterm_is) {
  forked_launcher job{by_role("trap 'exit 6' TERM; trap 'exit 9' HUP; echo ready; sleep 1000 & wait")};
  BOOST_TEST(job.next_line() == "[chief] ready");
  job.signal(SIGHUP);
  BOOST_TEST(job.code() == 6);
}

BOOST_AUTO_TEST_CASE(under_nohup_a_job_outlives_its_terminal) {
  forked_launcher job{by_role("trap 'exit 6' TERM; echo ready; sleep 1000 & wait"),
                      [] { std::signal(SIGHUP, SIG_IGN); }};
  BOOST_TEST(job.next_line() == "[chief] ready");
  job.signal(SIGHUP);
  // Were the other one heard, this would be the second signal, which kills.
  job.signal(SIGTERM);
  BOOST_TEST(job.code() == 6);
}

// `troupe run program | tee log`: the same Ctrl-C has ended tee.
BOOST_AUTO_TEST_CASE(a_reader_that_is_gone_keeps_no_job_from_its_orderly_end) {
  forked_launcher job{by_role("trap 'echo bye; exit 6' INT; echo ready; sleep 1000 & wait")};
  BOOST_TEST(job.next_line() == "[chief] ready");
  job.stop_reading();
  job.signal(SIGINT);
  BOOST_TEST(job.code() == 6);
}

// `troupe run program | head`
BOOST_AUTO_TEST_CASE(a_job_whose_output_nobody_reads_any_more_is_stopped_in_order) {
  forked_launcher job{by_role("trap 'exit 6' TERM; while :; do echo line; sleep 0.01; done")};
  BOOST_TEST(job.next_line() == "[chief] line");
  job.stop_reading();
  BOOST_TEST(job.code() == 6);
}

BOOST_AUTO_TEST_CASE(the_program_may_stand_behind_any_option_of_the_command) {
  for (const auto* last : {"--role=probe=1", "--role probe=1", "-r probe=1", "--workers 1"}) {
    std::istringstream words{last};
    std::vector<std::string> arguments{"run", "--role", "probe=1"};
    for (std::string word; words >> word;) arguments.push_back(word);
    arguments.insert(arguments.end(), {"/bin/sh", "-c", by_role("exit 7")});
    troupe::child_process command{{TROUPE_COMMAND, arguments, {}}};
    const auto ended = command.wait_for(patience);
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(to_string(*ended) == "exit code 7", last);
  }
}

BOOST_AUTO_TEST_CASE(options_that_make_no_cluster_are_refused) {
  launcher_options options;
  options.program = "/bin/sh";
  auto no_workers = options;
  no_workers.workers = 0;
  BOOST_CHECK_EXCEPTION(launcher{no_workers}, troupe::invalid_argument_error, [](const auto& e) {
    return e.message() == "the number of workers is 0 but must be 1 to 1000";
  });
  auto foreign_host = options;
  foreign_host.host = "192.0.2.1";  // reserved for documentation, so no machine has it
  BOOST_CHECK_THROW(launcher{foreign_host}, troupe::invalid_argument_error);
  auto no_program = options;
  no_program.program = "troupe-has-no-such-program";
  BOOST_CHECK_THROW(launcher{no_program}, troupe::not_found_error);
  launcher unstarted{options};
  BOOST_CHECK_THROW(unstarted.poll_once(0ms), troupe::failed_precondition_error);
  BOOST_CHECK_THROW(unstarted.pid({"worker", 2}), troupe::invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()
