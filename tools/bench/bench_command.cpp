// Each case is measured in a process of its own, so that none inherits another one's memory or threads:
//
//   troupe-bench ----------> troupe-bench NAME --case CASE --json        a case inside one process
//                \---------> launcher: chief, workers and servers, each with these arguments and a TF_CONFIG;
//                            the chief measures and prints               a case on a cluster of processes
//
// A single case inside one process is measured by the command itself, which is what the copies above do.
#include "bench_all_reduce_rank.hpp"
#include "bench_caf_reference.hpp"
#include "bench_case.hpp"
#include "bench_command.hpp"
#include "bench_page_command.hpp"
#include "bench_process.hpp"
#include "bench_rpc_reference.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/run.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

namespace troupe::tools {

namespace {

constexpr auto description = "Measures troupe against raw CAF, TCP, memcpy or a plain loop, in the same run.";

struct bench_options {
  std::vector<std::string> benches;
  std::string name;
  bool json = false;
  bool markdown = false;
  int runs = 3;
  std::string output;
  bool tls = false;
  measuring_plan plan;
  bool serves_as_reference = false;
  bool serves_rpc = false;
  std::uint16_t upstream_port = 0;
  std::vector<std::string> all_reduce_rank;
};

std::vector<bench_case> all_cases() {
  std::vector<bench_case> result;
  for (const auto list : {schedule_cases,       call_cases,       variables_cases,
                          transfer_cases,       checkpoint_cases, memory_cases,
                          training_cases,       all_reduce_cases, all_reduce_process_cases,
                          replica_cases,        rpc_cases,        gpu_cases,
                          gpu_collective_cases, gpu_server_cases, prefetch_cases,
                          recovery_cases,       silence_cases,    door_cases,
                          scale_cases,          compose_cases,    simulation_cases})
    for (auto& each : list()) {
      // Beside the others of its bench.
      const auto last = std::find_if(result.rbegin(), result.rend(),
                                     [&](const bench_case& other) { return other.bench == each.bench; });
      result.insert(last == result.rend() ? result.end() : last.base(), std::move(each));
    }
  return result;
}

std::string list_of(const std::vector<bench_case>& cases) {
  std::string text;
  std::string previous;
  for (const auto& each : cases) {
    if (each.bench != previous) text += fmt::format("  {}\n", each.bench);
    text += fmt::format("    {:<21} {}\n", each.name, each.summary);
    previous = each.bench;
  }
  return text;
}

[[noreturn]] void refuse(const std::string& what, const std::vector<bench_case>& all) {
  throw CLI::ValidationError{
      fmt::format("there is no {}; these are the benches and their cases:\n{}", what, list_of(all))};
}

/// The cases that the names stand for, and none that is unknown.
std::vector<bench_case> select(const bench_options& options) {
  const auto all = all_cases();
  for (const auto& name : options.benches)
    if (std::none_of(all.begin(), all.end(), [&](const bench_case& each) { return each.bench == name; }))
      refuse(fmt::format("bench \"{}\"", name), all);
  const auto is_wanted = [&](const bench_case& each) {
    const auto& benches = options.benches;
    return (benches.empty() || std::find(benches.begin(), benches.end(), each.bench) != benches.end()) &&
           (options.name.empty() || each.name == options.name);
  };
  std::vector<bench_case> selected;
  std::copy_if(all.begin(), all.end(), std::back_inserter(selected), is_wanted);
  if (selected.empty())
    refuse(fmt::format("case \"{}\"{}", options.name,
                       options.benches.empty() ? "" : fmt::format(" of {}", fmt::join(options.benches, ", "))),
           all);
  for (auto& each : selected) {
    each.tls |= options.tls;
    // What is named is measured.
    if (!options.benches.empty() || !options.name.empty()) each.left_out_because.clear();
  }
  return selected;
}

/// Four significant digits, without an exponent.
std::string short_number(double x) {
  if (x >= 1000) return fmt::format("{:.0f}", x);
  return fmt::format("{:.{}f}", x, x >= 100 ? 1 : x >= 10 ? 2 : 3);
}

/// Prints figures as rows under a head, which is repeated when the columns change, or as lines of JSON.
class figure_printer {
 public:
  explicit figure_printer(bool json) : json_(json) {}

  void print(const bench_case& which, const std::vector<figure>& figures) {
    for (const auto& row : figures) {
      if (json_)
        fmt::print("{}\n", to_json(row, which.bench, which.name));
      else
        print_row(which, row);
    }
    std::fflush(stdout);
  }

 private:
  static constexpr auto row_format = "{:<10} {:<20} {:>11} {:<5} {:>11} {:>7} {:>10} {:>10}{}  {}\n";

  void print_row(const bench_case& which, const figure& row) {
    const auto optional_number = [](const std::optional<double>& x) { return x ? short_number(*x) : ""; };
    std::string names;
    std::string values;
    for (const auto& each : row.details) {
      names += fmt::format(" {:>10}", each.name);
      values += fmt::format(" {:>10}", std::visit(as_text{}, each.value));
    }
    if (names != detail_names_) {
      fmt::print(row_format, "bench", "case", "value", "unit", "reference", "ratio", "p50", "p99", names,
                 "what the reference is");
      detail_names_ = names;
    }
    fmt::print(row_format, which.bench, which.name, short_number(row.value), row.unit,
               short_number(row.reference_value), short_number(row.ratio), optional_number(row.p50),
               optional_number(row.p99), values, row.reference);
  }

  struct as_text {
    std::string operator()(std::int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const { return short_number(x); }
    std::string operator()(const std::string& x) const { return x; }
  };

  bool json_;
  std::optional<std::string> detail_names_;  // in the head above; none before the first row
};

/// Measures in this process, which is the whole cluster, or the task of one that TF_CONFIG says.
int measure_here(const bench_options& options, const bench_case& which) {
  std::string name{"troupe"};
  std::array<char*, 1> arguments{name.data()};
  run_options chosen;
  chosen.size = which.size;
  chosen.cluster = which.options;
  chosen.program = [&](cluster& cluster) {
    const auto figures = which.measure(options.plan, cluster);
    figure_printer{options.json}.print(which, figures);
  };
  return troupe::run(static_cast<int>(arguments.size()), arguments.data(), std::move(chosen));
}

int measure_all(const bench_options& options, const std::vector<bench_case>& cases) {
  auto code = EXIT_SUCCESS;
  figure_printer printer{options.json};
  for (const auto& each : cases) {
    try {
      printer.print(each, measure_apart(each, options.plan));
    } catch (const error& failed) {
      fmt::print(stderr, "troupe bench: {}\n", failed.message());
      code = EXIT_FAILURE;
    }
  }
  return code;
}

/// The command that makes the same page again; a path of this machine stays out of it.
std::string command_of(const bench_options& options) {
  auto text =
      fmt::format("build/bin/troupe bench --markdown --runs {} --seconds {:g}", options.runs, options.plan.seconds);
  if (options.tls) text += " --tls";
  if (!options.name.empty()) text += " --case " + options.name;
  const std::filesystem::path output{options.output};
  if (!options.output.empty()) text += " -o " + (output.is_absolute() ? output.filename() : output).string();
  for (const auto& each : options.benches) text += ' ' + each;
  return text;
}

int measure_for_page(const bench_options& options, const std::vector<bench_case>& cases) {
  if (const auto obstacle = options.output.empty() ? "" : obstacle_to_output(options.output); !obstacle.empty())
    throw CLI::ValidationError{"-o", obstacle};
  return make_page(
      {.command = command_of(options), .runs = options.runs, .plan = options.plan, .output = options.output}, cases);
}

bool is_task_of_cluster() {
  const auto* const config = std::getenv("TF_CONFIG");
  return config != nullptr && *config != '\0';
}

int bench(const bench_options& options) {
  if (options.serves_as_reference) return serve_caf_reference(options.upstream_port);
  if (options.serves_rpc) return serve_rpc_reference();
  if (!options.all_reduce_rank.empty()) return serve_all_reduce_rank(options.all_reduce_rank);
  const auto cases = select(options);
  const auto is_single = cases.size() == 1;
  if (is_task_of_cluster()) {
    if (options.markdown || !is_single || cases.front().where != placement_of_members::processes)
      throw CLI::ValidationError{
          "TF_CONFIG makes this process a task of a cluster, where only a single case on processes can be measured: "
          "name it by NAME and --case, or unset TF_CONFIG"};
    return measure_here(options, cases.front());
  }
  // Whoever started this process may have made it ignore its children's ends, which would hide how they end.
  std::signal(SIGCHLD, SIG_DFL);
  if (options.markdown) return measure_for_page(options, cases);
  if (is_single && cases.front().where == placement_of_members::in_process) return measure_here(options, cases.front());
  return measure_all(options, cases);
}

constexpr auto markdown_description =
    "measure each case several times and print a page in Markdown: the machine, and for each bench a table of medians "
    "and ranges. Cases that take long, or whose size is one of many, are left out unless their bench is named";

std::string footer_of(const std::string& list) {
  return fmt::format(
      "A ratio above 1 means that troupe is better than its reference, which is measured in the same run.\n"
      "\n"
      "Examples:\n"
      "  troupe bench call                      a table of the cases of one bench\n"
      "  troupe bench --markdown -o page.md     a page of all benches\n"
      "\n"
      "Benches and their cases:\n{}\n"
      "Exit codes:\n"
      "  0     everything was measured\n"
      "  1     a case failed, in one of its runs at least, or the page could not be written; with --markdown there is\n"
      "        a page nevertheless, which names the case\n"
      "  2     wrong usage\n"
      "  3, 4  as a task of a cluster: the chief was lost, or the cluster did not start",
      list);
}

}  // namespace

void add_bench_options(CLI::App& app, int& exit_code) {
  app.description(description);
  auto options = std::make_shared<bench_options>();
  app.add_option("NAME", options->benches, "the benches; without a name, all of them");
  app.add_option("--case", options->name, "only this case of them");
  auto* const json = app.add_flag("--json", options->json, "print one JSON object per line instead of a table");
  app.add_flag("--tls", options->tls, "have the clusters of processes use TLS; their references do not");
  app.add_option("--seconds", options->plan.seconds, "how long each case measures")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  auto* const markdown = app.add_flag("--markdown", options->markdown, markdown_description)->excludes(json);
  app.add_option("--runs", options->runs, "how often each case is measured for the page")
      ->check(CLI::Range(1, 100))
      ->needs(markdown)
      ->capture_default_str();
  app.add_option("-o,--output", options->output,
                 "the file of the page, replaced as a whole when all is measured; without it, standard output")
      ->needs(markdown);
  // How the command starts copies of itself as raw CAF programs and as ranks; an empty group hides them.
  app.add_flag("--caf-reference", options->serves_as_reference)->group("");
  app.add_option("--caf-upstream", options->upstream_port)->group("");
  app.add_flag("--rpc-reference", options->serves_rpc)->group("");
  app.add_option("--all-reduce-rank", options->all_reduce_rank)->expected(5)->group("");
  app.footer(footer_of(list_of(all_cases())));
  app.callback([options, &exit_code] { exit_code = bench(*options); });
}

}  // namespace troupe::tools
