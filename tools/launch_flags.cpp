#include "launch_flags.hpp"

#include <troupe/runtime/program/program_flags.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>

#include <unistd.h>

namespace troupe::tools {

namespace {

/// Options of these commands that have no value; all others have one.
constexpr std::array flags_without_value{"--help", "-h", "--hosts", "--tls", "--verbose", "-v"};

bool is_prefix_command(std::string_view name) { return name == "run" || name == "chaos" || name == "simulate"; }

/// Completes the usage line by what CLI11 does not know of, because it is not an option.
class usage_with_program : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
    return fmt::format("Usage: {} [OPTIONS] PROGRAM [ARGUMENTS...]\n", name);
  }
};

bool is_colour_terminal(int file) { return ::isatty(file) == 1 && std::getenv("NO_COLOR") == nullptr; }

}  // namespace

void make_prefix(CLI::App& command) {
  command.prefix_command();
  command.formatter(std::make_shared<usage_with_program>());
}

void add_launch_flags(CLI::App& command, launch_flags& flags) {
  auto& launch = flags.launch;
  make_prefix(command);
  command.add_option("-w,--workers", launch.workers, "processes that run closures")
      ->check(CLI::Range(1, launcher::tasks_max))
      ->capture_default_str();
  command.add_option("-p,--ps", launch.servers, "parameter servers, which hold variables")
      ->check(CLI::Range(0, launcher::tasks_max))
      ->capture_default_str();
  command
      .add_option("-r,--role", flags.roles, "NAME=N members that only run the program's actors; may be given again")
      // One value each time: a vector's option would take PROGRAM, too.
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--max-restarts", launch.restarts_max,
                  "how often each worker, server and member of another role is started again")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command.add_option("--host", launch.host, "this machine's address that the tasks listen on")->capture_default_str();
  command.add_flag("--tls", launch.tls, "make certificates for the processes, so that all they say is encrypted");
  command
      .add_option("--stop-grace", flags.stop_grace_seconds,
                  "seconds between SIGTERM and SIGKILL, whatever --troupe-stop-grace the program has")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  command
      .add_option("--leave-grace", flags.leave_grace_seconds,
                  "seconds after the chief's end in which the others end by themselves, before they get SIGTERM")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
}

void take_program(const std::vector<std::string>& rest, std::string_view command, launcher_options& options) {
  if (rest.empty()) throw CLI::RequiredError{"PROGRAM"};
  if (rest.front().starts_with('-')) {
    throw CLI::ExtrasError{fmt::format("unknown option {}; see {} --help (a program whose name begins with '-' "
                                       "is written ./{})",
                                       rest.front(), command, rest.front()),
                           CLI::ExitCodes::ExtrasError};
  }
  options.program = rest.front();
  options.arguments.assign(rest.begin() + 1, rest.end());
}

launcher_options launcher_options_of(const launch_flags& flags) {
  // Whoever started this process may have made it ignore its children's ends, which would hide how they end.
  std::signal(SIGCHLD, SIG_DFL);
  auto launch = flags.launch;
  launch.is_terminal = {is_colour_terminal(STDOUT_FILENO), is_colour_terminal(STDERR_FILENO)};
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000.0)};
  };
  launch.stop_grace = milliseconds(flags.stop_grace_seconds);
  launch.leave_grace = milliseconds(flags.leave_grace_seconds);
  for (const auto& role : flags.roles) add_role(role, launch.roles);
  return launch;
}

int exit_code_of_start(const error& failed, int usage, int otherwise) {
  switch (failed.code()) {
    case status_code::invalid_argument:
      return usage;
    case status_code::not_found:
      return exit_not_found;
    case status_code::permission_denied:
    case status_code::failed_precondition:
      return exit_not_executable;
    default:
      return otherwise;
  }
}

std::vector<std::string> without_separator(int argc, char** argv) {
  std::vector<std::string> arguments{argv + 1, argv + argc};
  const auto is_prefix = !arguments.empty() && is_prefix_command(arguments.front());
  for (std::size_t i = 1; is_prefix && i < arguments.size(); ++i) {
    const auto& each = arguments[i];
    if (each == "--") {
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    if (!each.starts_with('-')) break;
    const auto has_none =
        std::find(flags_without_value.begin(), flags_without_value.end(), each) != flags_without_value.end();
    const auto holds_value = each.find('=') != std::string::npos || (each[1] != '-' && each.size() > 2);
    if (!has_none && !holds_value) ++i;
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

}  // namespace troupe::tools
