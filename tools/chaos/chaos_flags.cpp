#include "chaos_flags.hpp"
#include "chaos_hosts.hpp"
#include "plan_check.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>
#include <sstream>

#include <unistd.h>

namespace troupe::tools {

namespace {

// In the order of a report.
const std::vector<std::string> kinds_of_processes{"kill", "freeze"};
const std::vector<std::string> kinds_of_hosts{"cut", "cut_one_way", "break_link", "switch_off"};
// Only if they are named: not every machine can have them.
const std::vector<std::string> kinds_of_slow_links{"slow_link", "slow_link_one_way"};

/// More faults than any run of a day has.
constexpr double faults_max = 1'000'000;
constexpr double seconds_max = 86'400;
constexpr double rate_min = 0.001;
constexpr double rate_max = 1'000;
constexpr double slowness_ms_max = 60'000;

duration duration_of(double seconds) {
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>{seconds});
}

[[noreturn]] void refuse(const std::string& what) { throw invalid_argument_error{what}; }

/// "kill,freeze" as two.
std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> result;
  std::istringstream in{names};
  for (std::string name; std::getline(in, name, ',');) result.push_back(name);
  return result;
}

bool has(const std::vector<std::string>& kinds, std::string_view kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

double weight_of(const std::vector<std::string>& kinds, const char* kind, double weight) {
  return has(kinds, kind) ? weight : 0;
}

std::vector<std::string> kinds_of(const chaos_flags& flags) {
  auto usual = kinds_of_processes;
  if (flags.on_hosts) usual.insert(usual.end(), kinds_of_hosts.begin(), kinds_of_hosts.end());
  auto possible = usual;
  if (flags.on_hosts) possible.insert(possible.end(), kinds_of_slow_links.begin(), kinds_of_slow_links.end());
  const auto chosen = split(flags.kinds);
  for (const auto& kind : chosen) {
    if (has(possible, kind)) continue;
    if (has(kinds_of_hosts, kind) || has(kinds_of_slow_links, kind))
      refuse(fmt::format("--kinds {} needs hosts of their own for the tasks: add --hosts (as root)", kind));
    refuse(fmt::format("--kinds has {}, which is none of {}", kind, fmt::join(possible, ", ")));
  }
  return chosen.empty() ? usual : chosen;
}

/// How slow those of the drawn links are that are.
link_slowness slowness_of(const chaos_flags& flags, const std::vector<std::string>& kinds) {
  const auto is_given = flags.latency_ms || flags.jitter_ms || flags.bytes_per_second;
  if (is_given && !has(kinds, "slow_link") && !has(kinds, "slow_link_one_way"))
    refuse(
        "--latency-ms, --jitter-ms and --bytes-per-second say how slow links are, but none is: add slow_link or "
        "slow_link_one_way to --kinds");
  auto result = fault_rates{}.slowness;
  constexpr double milliseconds_of_second = 1'000;
  if (flags.latency_ms) result.latency = duration_of(*flags.latency_ms / milliseconds_of_second);
  if (flags.jitter_ms) result.jitter = duration_of(*flags.jitter_ms / milliseconds_of_second);
  result.bytes_per_second = flags.bytes_per_second.value_or(result.bytes_per_second);
  return result;
}

/// Those that fail, and those of which only the links do.
void divide_hosts(const chaos_flags& flags, const std::vector<task_id>& tasks, fault_rates& into) {
  const auto jobs = split(flags.jobs);
  for (const auto& job : jobs) {
    if (job == "chief") refuse("--fail chief would end the job: the chief's links fail without it");
    if (std::none_of(tasks.begin(), tasks.end(), [&](const auto& task) { return task.job == job; }))
      refuse(fmt::format("--fail {} names no job of the cluster: worker, ps or one of --role", job));
  }
  for (const auto& task : tasks) {
    const auto fails = flags.jobs.empty() ? !is_chief(task) && task.job != "ps"
                                          : std::find(jobs.begin(), jobs.end(), task.job) != jobs.end();
    (fails ? into.hosts : into.spared).push_back(host_name(task));
  }
}

fault_plan draw_plan(chaos_flags& flags, const std::vector<task_id>& tasks) {
  if (flags.longest_seconds < flags.shortest_seconds) refuse("--longest must be at least --shortest");
  if (flags.rate * flags.duration_seconds > faults_max)
    refuse(fmt::format("--rate {:g} for --duration {:g} s are more than {:g} faults", flags.rate,
                       flags.duration_seconds, faults_max));
  const auto kinds = kinds_of(flags);
  fault_rates rates{.faults_per_second = flags.rate,
                    .until = duration_of(flags.duration_seconds),
                    .least = duration_of(flags.shortest_seconds),
                    .most = duration_of(flags.longest_seconds),
                    .kills = weight_of(kinds, "kill", 1),
                    .freezes = weight_of(kinds, "freeze", 1),
                    .cuts = weight_of(kinds, "cut", 1),
                    .one_way_cuts = weight_of(kinds, "cut_one_way", 1),
                    .breaks = weight_of(kinds, "break_link", 1),
                    .power_losses = weight_of(kinds, "switch_off", 0.5),
                    .slow_links = weight_of(kinds, "slow_link", 1),
                    .one_way_slow_links = weight_of(kinds, "slow_link_one_way", 1),
                    .slowness = slowness_of(flags, kinds)};
  divide_hosts(flags, tasks, rates);
  if (!flags.seed) flags.seed = std::random_device{}();
  return draw_faults(rates, *flags.seed);
}

double limit_of(const chaos_flags& flags, const fault_plan& plan) {
  if (flags.limit_seconds) return *flags.limit_seconds;
  auto last = flags.plan_file.empty() ? duration_of(flags.duration_seconds) : duration{};
  for (const auto& fault : plan.faults) last = std::max(last, fault.at);
  constexpr double more_seconds = 600;
  return std::ceil(2 * std::chrono::duration<double>{last}.count() + more_seconds);
}

constexpr double second_fraction_min = 0.001;

void add_flags_of_slow_links(CLI::App& command, CLI::Option& plan, chaos_flags& flags) {
  const auto add_milliseconds = [&](const char* name, std::optional<double>& value, const char* what) {
    command.add_option(name, value, what)->check(CLI::Range(0.0, slowness_ms_max))->excludes(&plan);
  };
  add_milliseconds("--latency-ms", flags.latency_ms, "so much later arrives what passes a slow link; 20 if not given");
  add_milliseconds("--jitter-ms", flags.jitter_ms, "and up to so much more; 20 if not given");
  command
      .add_option("--bytes-per-second", flags.bytes_per_second, "no more than that passes it; no limit if not given")
      ->check(CLI::PositiveNumber)
      ->excludes(&plan);
}

/// What gives the faults: a plan, or how they are drawn.
void add_flags_of_faults(CLI::App& command, chaos_flags& flags) {
  auto* const plan = command.add_option("--plan", flags.plan_file, "the faults, as JSON (runtime/fault_plan.hpp)");
  const auto add_number = [&](const char* name, double& value, double least, double most, const char* what) {
    command.add_option(name, value, what)->capture_default_str()->check(CLI::Range(least, most))->excludes(plan);
  };
  const auto add_names = [&](const char* name, std::string& names, const char* what) {
    command.add_option(name, names, what)->excludes(plan);
  };
  add_number("--rate", flags.rate, rate_min, rate_max, "faults per second, on the average");
  add_number("--duration", flags.duration_seconds, second_fraction_min, seconds_max, "seconds in which faults begin");
  command.add_option("--seed", flags.seed, "gives the same faults again; otherwise drawn, and printed")->excludes(plan);
  add_number("--shortest", flags.shortest_seconds, second_fraction_min, seconds_max,
             "seconds that each fault lasts, at least");
  add_number("--longest", flags.longest_seconds, second_fraction_min, seconds_max, "and at most");
  add_names(
      "--kinds", flags.kinds,
      "which faults, as kill,freeze; with --hosts also cut,cut_one_way,break_link,switch_off; all of these if not "
      "given; and slow_link,slow_link_one_way");
  add_flags_of_slow_links(command, *plan, flags);
  add_names("--fail", flags.jobs,
            "the jobs whose tasks fail, as worker,ps; all but chief and ps if not given; of the others the links with "
            "these fail");
}

/// What must hold, and by when.
void add_flags_of_limits(CLI::App& command, chaos_flags& flags) {
  const auto add_seconds = [&](const char* name, double& value, double least, const char* what) {
    command.add_option(name, value, what)->capture_default_str()->check(CLI::Range(least, seconds_max));
  };
  command
      .add_option("--limit", flags.limit_seconds,
                  "seconds that the job may take; twice the time of the faults and 600 if not given")
      ->check(CLI::Range(second_fraction_min, seconds_max));
  add_seconds("--wait", flags.wait_seconds, 0,
              "seconds that all members have to join; the times of faults count from when they have, or from then");
  add_seconds("--silence", flags.silence_seconds, second_fraction_min,
              "shorter silences, in seconds, need not be noticed");
  add_seconds("--notice-limit", flags.notice_seconds, second_fraction_min,
              "seconds within which the chief must notice a fault");
  add_seconds("--back-limit", flags.back_seconds, second_fraction_min, "seconds within which a member must be back");
}

}  // namespace

void add_chaos_flags(CLI::App& command, chaos_flags& flags) {
  add_flags_of_faults(command, flags);
  command.add_flag("--hosts", flags.on_hosts,
                   "each task on a host of its own, a network namespace; needs root, iproute2 and nftables");
  command.add_option("--bandwidth", flags.bandwidth, "of each host with --hosts, as 50mbit; no limit if not given");
  add_flags_of_limits(command, flags);
  command.add_option("--report", flags.report_file, "the report goes to this file, too, as JSON");
  command.add_option("--save-plan", flags.save_plan_file, "the faults go to this file, for --plan");
  command.add_flag("-v,--verbose", flags.verbose, "a line for each fault, as on a terminal");
  // Those that faults cause are not what a job is given up for.
  constexpr int restarts_max = 1'000;
  flags.launch.launch.restarts_max = restarts_max;
  add_launch_flags(command, flags.launch);
}

bool is_drawn(const chaos_flags& flags) { return flags.plan_file.empty(); }

chaos_options chaos_options_of(chaos_flags& flags) {
  chaos_options result;
  result.launch = launcher_options_of(flags.launch);
  const auto tasks = tasks_of(result.launch);
  if (flags.on_hosts && result.launch.host != launcher_options{}.host)
    refuse("--host and --hosts exclude each other: hosts of their own have addresses of their own");
  if (flags.on_hosts && tasks.size() > host_network::hosts_max)
    refuse(fmt::format("--hosts has room for {} tasks, but these are {}", host_network::hosts_max, tasks.size()));
  if (!flags.bandwidth.empty() && !flags.on_hosts) refuse("--bandwidth needs --hosts: only their cables have one");
  if (!flags.bandwidth.empty() && !std::regex_match(flags.bandwidth, std::regex{"[1-9][0-9]{0,8}[kmg]?bit"}))
    refuse(fmt::format("--bandwidth is {} but must be a rate such as 50mbit", flags.bandwidth));
  result.plan = is_drawn(flags) ? draw_plan(flags, tasks) : fault_plan::from_file(flags.plan_file);
  check_plan(result.plan, tasks, flags.on_hosts);
  result.on_hosts = flags.on_hosts;
  result.bandwidth = flags.bandwidth;
  result.wait = std::chrono::duration<double>{flags.wait_seconds};
  result.tells_faults = flags.verbose || ::isatty(STDERR_FILENO) == 1;
  using seconds = std::chrono::duration<double>;
  result.limits = {seconds{limit_of(flags, result.plan)}, seconds{flags.silence_seconds}, seconds{flags.notice_seconds},
                   seconds{flags.back_seconds}};
  return result;
}

std::string to_lines(const fault_plan& plan) {
  const auto all = nlohmann::json::parse(plan.to_json());
  std::string result = "{\"faults\": [";
  auto is_first = true;
  for (const auto& fault : all.at("faults")) {
    result += (is_first ? "\n  " : ",\n  ") + fault.dump();
    is_first = false;
  }
  return result + "]}\n";
}

}  // namespace troupe::tools
