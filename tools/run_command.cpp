#include "launch_flags.hpp"
#include "run_command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace troupe::tools {

namespace {

constexpr auto run_description =
    "Runs PROGRAM as a cluster on this machine: one chief, workers and parameter servers, each a process of its own "
    "that learns its role from TF_CONFIG.";

constexpr auto run_footer =
    "Lines of output begin with the name of their task. A worker, server or other member that fails is started again. "
    "The job ends with the chief; SIGINT, SIGTERM and SIGHUP go to the chief, whose end is that of the others, and a "
    "second one kills all.\n"
    "\n"
    "The processes let each other in by a secret that is made for this job, in memory, and nobody else; or by that of "
    "TROUPE_SECRET_FILE, if it is set; or, with --tls, by certificates that are made for this job, in memory, too.\n"
    "\n"
    "Exit codes:\n"
    "  0     the chief has succeeded\n"
    "  1     the cluster could not be started, or no worker was left\n"
    "  2     wrong usage\n"
    "  126   PROGRAM is not executable\n"
    "  127   PROGRAM was not found\n"
    "  other the chief's own, or 128 + the number of the signal that ended it";

int run(const launch_flags& flags) {
  try {
    return launcher{launcher_options_of(flags)}.run();
  } catch (const error& e) {
    fmt::print(stderr, "troupe run: {}\n", e.message());
    return exit_code_of_start(e, exit_usage, EXIT_FAILURE);
  }
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("run", run_description);
  auto flags = std::make_shared<launch_flags>();
  command->footer(run_footer);
  add_launch_flags(*command, *flags);
  command->callback([command, flags, &exit_code] {
    take_program(command->remaining(), "troupe run", flags->launch);
    exit_code = run(*flags);
  });
}

}  // namespace troupe::tools
