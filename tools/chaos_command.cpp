#include "chaos/chaos_flags.hpp"
#include "chaos/plan_check.hpp"
#include "chaos_command.hpp"

#include <troupe/runtime/launch/host_network.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

namespace troupe::tools {

namespace {

constexpr auto chaos_description =
    "Runs PROGRAM as troupe run does, while its processes, and with --hosts their links, fail by a plan, and reports "
    "what that did. PROGRAM may also be written as -- troupe run [OPTIONS] PROGRAM.";

constexpr auto chaos_footer =
    "Hosts have the names that they have in a simulation: chief-0, worker-1, ps-0. What was killed or switched off\n"
    "stays down until the plan restarts it; what it only kills is started again as under troupe run. Slow links delay\n"
    "packets, in one direction or both, by the kernel's TUN devices (/dev/net/tun), no netem needed. The report, on\n"
    "standard error, says how many faults there were, how soon the chief noticed those that keep a member from it,\n"
    "how soon members were back, and whether the job succeeded, everything was noticed and is back, and no process\n"
    "is left.\n"
    "\n"
    "Exit codes:\n"
    "  0     the job has succeeded, and all that must hold did\n"
    "  1     the job has failed, or was stopped, by its limit or a signal\n"
    "  2     wrong usage, or a plan that this cluster can't have\n"
    "  3     the job has succeeded, but something else that must hold did not\n"
    "  4     impossible here: no hosts of their own (no root, no nftables), no slow links (no TUN devices), no\n"
    "        folder for temporary files (TMPDIR), or the cluster could not be started\n"
    "  126   PROGRAM is not executable\n"
    "  127   PROGRAM was not found";

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file{path};
  file << content;
  file.close();
  if (!file) throw invalid_argument_error{fmt::format("the file {} can't be written", path)};
}

/// PROGRAM, with or without "troupe run" and options before it.
void take_job(const CLI::App& command, launch_flags& into) {
  auto rest = command.remaining();
  const auto is_run = rest.size() > 1 && std::filesystem::path{rest[0]}.filename() == "troupe" && rest[1] == "run";
  if (!is_run) return take_program(rest, "troupe chaos", into.launch);
  std::reverse(rest.begin(), rest.end());
  rest.resize(rest.size() - 2);
  CLI::App run;
  add_launch_flags(run, into);
  run.parse(rest);
  take_program(run.remaining(), "troupe run", into.launch);
}

int report_on(const job_record& job, const chaos_options& options, const chaos_flags& flags) {
  const auto report = examine(job, options.limits);
  fmt::print(stderr, "{}", to_text(report));
  if (!flags.report_file.empty()) write_file(flags.report_file, to_json(report, flags.seed));
  return exit_code_of(report);
}

chaos_options prepare(chaos_flags& flags) {
  auto options = chaos_options_of(flags);
  find_program(options.launch.program);
  if (!flags.save_plan_file.empty()) write_file(flags.save_plan_file, to_lines(options.plan));
  // Before the job, which may take long.
  if (!flags.report_file.empty()) write_file(flags.report_file, {});
  return options;
}

/// Why this machine can't do what is asked for, before the job is started.
std::optional<std::string> obstacle_to(const chaos_options& options) {
  if (!options.on_hosts) return {};
  if (const auto obstacle = host_network::obstacle())
    return fmt::format(
        "--hosts is impossible here: {}\nIt needs root, iproute2 and nftables; without it only processes fail, not "
        "links.",
        *obstacle);
  if (!has_slow_links(options.plan)) return {};
  if (const auto obstacle = host_network::obstacle_to_slow_links())
    return fmt::format("{}\nWithout slow_link and slow_link_one_way the plan is possible.", *obstacle);
  return {};
}

int run(chaos_flags& flags) {
  try {
    const auto options = prepare(flags);
    if (const auto obstacle = obstacle_to(options)) {
      fmt::print(stderr, "troupe chaos: {}\n", *obstacle);
      return chaos_exit::impossible;
    }
    fmt::print(stderr, "troupe chaos: {} {}, limit {:g} s\n", options.plan.faults.size(),
               is_drawn(flags) ? fmt::format("faults and ends of faults, --seed {}", *flags.seed)
                               : "faults of " + flags.plan_file,
               options.limits.job.count());
    return report_on(run_under_faults(options), options, flags);
  } catch (const error& e) {
    fmt::print(stderr, "troupe chaos: {}\n", e.message());
    return exit_code_of_start(e, chaos_exit::usage, chaos_exit::impossible);
  }
}

}  // namespace

void add_chaos_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("chaos", chaos_description);
  auto flags = std::make_shared<chaos_flags>();
  command->footer(chaos_footer);
  add_chaos_flags(*command, *flags);
  command->callback([command, flags, &exit_code] {
    take_job(*command, flags->launch);
    exit_code = run(*flags);
  });
}

}  // namespace troupe::tools
