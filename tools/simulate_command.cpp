#include "launch_flags.hpp"
#include "simulate_command.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/launch/child_process.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

namespace troupe::tools {

namespace {

constexpr auto simulate_description =
    "Runs PROGRAM, a test that searches in virtual time (explore, TROUPE_SIMULATION_TEST), with the seeds, the plan "
    "and the choices that are given here, and keeps what it finds: shrunk, drawn, and with what it takes to see it "
    "again.";

constexpr auto simulate_footer =
    "In the folder of --found: report.txt; plan.json, the failures that it takes; run.html and run.mmd, the picture; "
    "environment, with which --again runs it once more; and coverage.txt, how often each planned failure happened and "
    "was survived in all runs, also if nothing was found. A program of Boost.Test takes its own options behind its "
    "name: "
    "troupe simulate --seeds 1000 build/tests --run_test=no_update_is_lost\n"
    "\n"
    "Exit codes:\n"
    "  1     PROGRAM could not be started\n"
    "  2     wrong usage, or files that --plan and --again can't use\n"
    "  126   PROGRAM is not executable\n"
    "  127   PROGRAM was not found\n"
    "  other PROGRAM's own: as a rule 0 if nothing was found; those of Boost.Test: 201 if a run has failed";

struct simulate_flags {
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> seeds;
  std::optional<std::uint64_t> first_seed;
  std::optional<std::uint64_t> drawn_choices;
  std::optional<std::string> deviations;
  std::optional<std::string> plan;
  std::string found = "found";
  std::optional<std::string> again;
};

/// All variables of a search; those that are not given are taken from nobody's shell.
constexpr std::array variables{"TROUPE_SEED",          "TROUPE_SEEDS",      "TROUPE_FIRST_SEED", "TROUPE_PLAN",
                               "TROUPE_DRAWN_CHOICES", "TROUPE_DEVIATIONS", "TROUPE_FOUND"};

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
void set(const char* name, const std::optional<std::uint64_t>& value) {
  if (value) set(name, std::to_string(*value));
}

/// What an earlier search has left. @throws not_found_error, invalid_argument_error
void set_as_found(const std::string& folder) {
  const auto path = std::filesystem::path{folder} / "environment";
  std::ifstream file{path};
  if (!file)
    throw invalid_argument_error{
        fmt::format("--again {}: there is no {}; a search that finds something with --found {} leaves it", folder,
                    path.string(), folder)};
  for (std::string line; std::getline(file, line);) {
    const auto end = line.find('=');
    const auto name = line.substr(0, end);
    if (end == std::string::npos || std::find(variables.begin(), variables.end(), name) == variables.end())
      throw invalid_argument_error{fmt::format("{}: \"{}\" is no variable of a search", path.string(), line)};
    set(name.c_str(), line.substr(end + 1));
  }
}

void set_environment(const simulate_flags& flags) {
  for (const auto* const name : variables) ::unsetenv(name);
  // What runs again has been kept.
  if (flags.again) return set_as_found(*flags.again);
  set("TROUPE_SEED", flags.seed);
  set("TROUPE_SEEDS", flags.seeds);
  set("TROUPE_FIRST_SEED", flags.first_seed);
  set("TROUPE_DRAWN_CHOICES", flags.drawn_choices);
  if (flags.deviations) set("TROUPE_DEVIATIONS", *flags.deviations);
  if (flags.plan) {
    // Before the program begins.
    fault_plan::from_file(*flags.plan);
    set("TROUPE_PLAN", std::filesystem::absolute(*flags.plan).string());
  }
  set("TROUPE_FOUND", std::filesystem::absolute(flags.found).string());
}

/// Becomes the program; returns what to exit with if it can't.
int run(const simulate_flags& flags, const launcher_options& program) {
  try {
    const auto path = find_program(program.program);
    set_environment(flags);
    std::vector<std::string> words{program.program};
    words.insert(words.end(), program.arguments.begin(), program.arguments.end());
    std::vector<char*> arguments;
    for (auto& each : words) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    std::fflush(nullptr);
    ::execv(path.c_str(), arguments.data());
    throw failed_precondition_error{fmt::format("{} can't be executed: {}", path, std::strerror(errno))};
  } catch (const error& failed) {
    fmt::print(stderr, "troupe simulate: {}\n", failed.message());
    return exit_code_of_start(failed, exit_usage, EXIT_FAILURE);
  }
}

}  // namespace

void add_simulate_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("simulate", simulate_description);
  auto flags = std::make_shared<simulate_flags>();
  make_prefix(*command);
  command->footer(simulate_footer);
  auto* const seed = command->add_option("--seed", flags->seed, "this seed alone");
  auto* const seeds =
      command->add_option("--seeds", flags->seeds, "so many seeds; otherwise as many as the test says")
          ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max(), "at least 1"));
  auto* const first = command->add_option("--first-seed", flags->first_seed, "from this one on");
  auto* const plan =
      command->add_option("--plan", flags->plan, "a file with a plan of failures (JSON), instead of those of the test");
  auto* const drawn =
      command->add_option("--drawn-choices", flags->drawn_choices, "so many choices of the next step are drawn");
  auto* const deviations =
      command->add_option("--deviations", flags->deviations,
                          "steps come in order but for these choices: 12:1,40:2 passes 1 over at choice 12; none: in "
                          "order");
  auto* const found =
      command->add_option("--found", flags->found, "the folder for what is found")
          ->check(CLI::Validator{
              [](const std::string& name) { return std::string{name.empty() ? "needs a name" : ""}; }, {}})
          ->capture_default_str();
  auto* const again =
      command->add_option("--again", flags->again, "runs what a search has left in this folder once more");
  seed->excludes(seeds)->excludes(first);
  for (auto* const each : {plan, drawn, deviations}) each->needs(seed);
  for (auto* const each : {seed, seeds, first, plan, drawn, deviations, found}) again->excludes(each);
  command->callback([command, flags, &exit_code] {
    launcher_options program;
    take_program(command->remaining(), "troupe simulate", program);
    exit_code = run(*flags, program);
  });
}

}  // namespace troupe::tools
