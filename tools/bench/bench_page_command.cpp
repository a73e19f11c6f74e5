#include "bench_descriptions.hpp"
#include "bench_machine.hpp"
#include "bench_page.hpp"
#include "bench_page_command.hpp"
#include "bench_process.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/atomic_file.hpp>
#include <troupe/runtime/launch/terminal.hpp>
#include <troupe/runtime/progress_bar.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>

#include <unistd.h>

namespace troupe::tools {

namespace {

/// A bar on a terminal, nothing in a log. Problems are reported in both.
class page_progress {
 public:
  explicit page_progress(std::int64_t steps) {
    if (!shows_progress_bar(STDERR_FILENO)) return;
    bar_.emplace(
        std::cerr,
        progress_bar_options{
            .title = "bench", .steps_total = steps, .is_terminal = true, .columns = terminal_columns(STDERR_FILENO)});
  }

  void begin(const std::string& what) {
    if (bar_) bar_->update(step_, what);
    ++step_;
  }
  void report(const std::string& problem) {
    const auto line = fmt::format("troupe bench: {}", problem);
    if (bar_)
      bar_->message(line);
    else
      fmt::print(stderr, "{}\n", line);
  }
  void finish() {
    if (bar_) bar_->finish(step_, "");
  }

 private:
  std::optional<progress_bar> bar_;
  std::int64_t step_ = 0;
};

/// A section for each bench, with its cases, none of which is measured yet.
std::vector<page_section> sections_for(const std::vector<bench_case>& cases) {
  std::vector<page_section> sections;
  for (const auto& each : cases) {
    if (sections.empty() || sections.back().bench != each.bench)
      sections.push_back({each.bench, describe_bench(each.bench), {}});
    sections.back().cases.push_back(
        {.name = each.name, .summary = each.summary, .left_out_because = each.left_out_because});
  }
  return sections;
}

/// One run of all cases. `into`: a place for each of them.
void measure_once(const std::vector<bench_case>& cases, const std::vector<page_case*>& into, const measuring_plan& plan,
                  const std::string& which_run, page_progress& progress) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].left_out_because.empty()) continue;
    progress.begin(fmt::format("{}: {} {}", which_run, cases[i].bench, cases[i].name));
    try {
      into[i]->runs.push_back(measure_apart(cases[i], plan));
    } catch (const error& failed) {
      ++into[i]->runs_failed;
      progress.report(failed.message());
    }
  }
}

/// All runs, each of them of all cases, so that the runs of one case lie far apart.
void measure_all_runs(const page_options& options, const std::vector<bench_case>& cases,
                      std::vector<page_section>& sections) {
  std::vector<page_case*> places;
  for (auto& section : sections)
    for (auto& each : section.cases) places.push_back(&each);
  std::int64_t steps = 0;
  for (const auto& each : cases) steps += each.left_out_because.empty() ? options.runs : 0;
  page_progress progress{steps};
  for (auto run = 1; run <= options.runs; ++run)
    measure_once(cases, places, options.plan, fmt::format("run {} of {}", run, options.runs), progress);
  progress.finish();
}

bool has_failed(const std::vector<page_section>& sections) {
  for (const auto& section : sections)
    for (const auto& each : section.cases)
      if (each.runs_failed > 0) return true;
  return false;
}

void write_page(const std::string& path, const std::string& page) {
  if (path.empty()) {
    fmt::print("{}", page);
    if (std::fflush(stdout) != 0) throw unavailable_error{"the page can't be written to standard output"};
    return;
  }
  atomic_file file{path};
  file.write(std::as_bytes(std::span{page}));
  file.commit();
}

}  // namespace

std::string obstacle_to_output(const std::string& path) {
  const std::filesystem::path file{path};
  std::error_code problem;
  if (std::filesystem::exists(file, problem) && !std::filesystem::is_regular_file(file, problem))
    return fmt::format("{} is not a regular file; a file to write or to replace is expected", path);
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path{"."};
  if (::access(folder.c_str(), W_OK | X_OK) == 0 && std::filesystem::is_directory(folder, problem)) return {};
  return fmt::format("no file can be written in {}; a folder that exists and is writable is expected", folder.string());
}

int make_page(const page_options& options, const std::vector<bench_case>& cases) {
  // At the beginning: who edits the tree meanwhile does not change what is measured.
  const page_head head{.command = options.command,
                       .commit = describe_commit(),
                       .date = describe_date(),
                       .machine = describe_machine(),
                       .runs = options.runs,
                       .seconds = options.plan.seconds};
  auto sections = sections_for(cases);
  measure_all_runs(options, cases, sections);
  write_page(options.output, to_markdown(head, sections));
  return has_failed(sections) ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace troupe::tools
