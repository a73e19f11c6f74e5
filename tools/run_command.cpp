#include "run_command.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/launcher.hpp>
#include <troupe/runtime/program/program_flags.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <unistd.h>

namespace troupe::tools {

namespace {

// What a shell returns when it cannot run a command.
constexpr auto exit_usage = 2;
constexpr auto exit_not_executable = 126;
constexpr auto exit_not_found = 127;

constexpr auto description =
    "Runs PROGRAM as a cluster on this machine: one chief, workers and parameter servers, each a process of its own "
    "that learns its role from TF_CONFIG.";

constexpr auto footer =
    "Lines of output begin with the name of their task. A worker, server or other member that fails is started again. "
    "The job ends with the chief; SIGINT, SIGTERM and SIGHUP go to the chief, whose end is that of the others, and a "
    "second one kills all.\n"
    "\n"
    "Exit codes:\n"
    "  0     the chief has succeeded\n"
    "  1     the cluster could not be started\n"
    "  2     wrong usage\n"
    "  126   PROGRAM is not executable\n"
    "  127   PROGRAM was not found\n"
    "  other the chief's own, or 128 + the number of the signal that ended it";

/// Completes the usage line by what CLI11 does not know of, because it is not an option.
class usage_with_program : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
    return fmt::format("Usage: {} [OPTIONS] PROGRAM [ARGUMENTS...]\n", name);
  }
};

struct run_options {
  launcher_options launch;
  double stop_grace_seconds = 12.0;
  double leave_grace_seconds = 2.0;
  std::vector<std::string> roles;
};

/// PROGRAM and its arguments, which CLI11 leaves untouched because the command is a prefix of another one.
void take_program(const CLI::App& command, launcher_options& options) {
  const auto rest = command.remaining();
  if (rest.empty()) throw CLI::RequiredError{"PROGRAM"};
  if (rest.front().starts_with('-')) {
    throw CLI::ExtrasError{fmt::format("unknown option {}; see troupe run --help (a program whose name begins with '-' "
                                       "is written ./{})",
                                       rest.front(), rest.front()),
                           CLI::ExitCodes::ExtrasError};
  }
  options.program = rest.front();
  options.arguments.assign(rest.begin() + 1, rest.end());
}

bool is_colour_terminal(int file) { return ::isatty(file) == 1 && std::getenv("NO_COLOR") == nullptr; }

int exit_code_of(const error& e) {
  switch (e.code()) {
    case status_code::invalid_argument:
      return exit_usage;
    case status_code::not_found:
      return exit_not_found;
    case status_code::permission_denied:
    case status_code::failed_precondition:
      return exit_not_executable;
    default:
      return EXIT_FAILURE;
  }
}

int run(const run_options& options) {
  // Whoever started this process may have made it ignore its children's ends, which would hide how they end.
  std::signal(SIGCHLD, SIG_DFL);
  auto launch = options.launch;
  launch.is_terminal = {is_colour_terminal(STDOUT_FILENO), is_colour_terminal(STDERR_FILENO)};
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000.0)};
  };
  launch.stop_grace = milliseconds(options.stop_grace_seconds);
  launch.leave_grace = milliseconds(options.leave_grace_seconds);
  try {
    for (const auto& role : options.roles) add_role(role, launch.roles);
    return launcher{std::move(launch)}.run();
  } catch (const error& e) {
    fmt::print(stderr, "troupe run: {}\n", e.message());
    return exit_code_of(e);
  }
}

}  // namespace

std::vector<std::string> without_separator(int argc, char** argv) {
  std::vector<std::string> arguments{argv + 1, argv + argc};
  const auto is_run = !arguments.empty() && arguments.front() == "run";
  // Each option of `run` but --help has a value.
  for (std::size_t i = 1; is_run && i < arguments.size(); ++i) {
    if (arguments[i] == "--") {
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    if (!arguments[i].starts_with('-')) break;
    const auto holds_value =
        arguments[i].find('=') != std::string::npos || (arguments[i][1] != '-' && arguments[i].size() > 2);
    if (!holds_value) ++i;
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

void add_run_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("run", description);
  auto options = std::make_shared<run_options>();
  auto& launch = options->launch;
  command->prefix_command();
  command->formatter(std::make_shared<usage_with_program>());
  command->footer(footer);
  command->add_option("-w,--workers", launch.workers, "processes that run closures")
      ->check(CLI::Range(1, launcher::tasks_max))
      ->capture_default_str();
  command->add_option("-p,--ps", launch.servers, "parameter servers, which hold variables")
      ->check(CLI::Range(0, launcher::tasks_max))
      ->capture_default_str();
  command
      ->add_option("-r,--role", options->roles, "NAME=N members that only run the program's actors; may be given again")
      // One value each time: a vector's option would take PROGRAM, too.
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--max-restarts", launch.restarts_max,
                   "how often each worker, server and member of another role is started again")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--host", launch.host, "this machine's address that the tasks listen on")->capture_default_str();
  command
      ->add_option("--stop-grace", options->stop_grace_seconds,
                   "seconds between SIGTERM and SIGKILL, whatever --troupe-stop-grace the program has")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  command
      ->add_option("--leave-grace", options->leave_grace_seconds,
                   "seconds after the chief's end in which the others end by themselves, before they get SIGTERM")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  command->callback([command, options, &exit_code] {
    take_program(*command, options->launch);
    exit_code = run(*options);
  });
}

}  // namespace troupe::tools
