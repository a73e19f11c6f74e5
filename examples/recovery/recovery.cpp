// Lesson 11: a job that goes on by itself. See README.md beside this file.
#include "job.hpp"
#include "program_arguments.hpp"

#include <troupe/runtime/file.hpp>
#include <troupe/runtime/run.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>

namespace {

using namespace troupe;
using namespace troupe::recovery;

int run_from_command_line(cluster& here) {
  job_options chosen{.checkpoint = (std::filesystem::temp_directory_path() / "recovery.safetensors").string()};
  auto computing_ms = chosen.step_time.count();
  auto is_new = false;
  CLI::App options{"A small regression that goes on after the loss of workers, of servers, and of the job", "recovery"};
  options.add_option("--steps", chosen.steps, "Gradient steps in all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  options.add_option("--save-interval", chosen.save_interval, "Steps between two checkpoints")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options.add_option("--step-ms", computing_ms, "How long a step computes")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  options.add_option("--checkpoint", chosen.checkpoint, "The file that the job goes on from")->capture_default_str();
  options.add_flag("--new", is_new, "Delete that file first");
  options.footer(examples::footer_of_run);
  if (const auto code = examples::read_arguments(options, here.arguments())) return *code;
  chosen.step_time = std::chrono::milliseconds{computing_ms};
  if (is_new && file_exists(chosen.checkpoint)) remove_file(chosen.checkpoint);

  const auto result = run_job(here, chosen, [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  });
  fmt::print("steps         {}\n", result.steps);
  fmt::print("gradients     {}\n", result.gradients);
  fmt::print("recoveries    {}\n", result.recoveries);
  fmt::print("weights       {:.2f}\n", fmt::join(result.weights, " "));
  return exit_code::success;
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, run_from_command_line, job_cluster_options()); }
