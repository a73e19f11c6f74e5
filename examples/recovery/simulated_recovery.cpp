// Lesson 11, as a test: the same job in virtual time, while workers and servers fail. See README.md beside
// this file.
#include "job.hpp"

#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/simulation.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>

using namespace std::chrono_literals;

namespace {

using namespace troupe;
using namespace troupe::recovery;

const local_cluster size{.workers = 2, .servers = 2};

void check(simulated_world& world, int& recoveries) {
  job_result result;
  run_options options;
  options.program = [&](cluster& here) {
    result = run_job(here, {.checkpoint = "checkpoint"}, [](const std::string&) {});
  };
  options.size = size;
  options.cluster = job_cluster_options();
  world.require(simulate(world, options) == exit_code::success, "the job has failed");
  world.require(result.steps == 400 && result.gradients >= 400, "a step is lost");
  world.require(std::abs(result.weights.at(0) - 2) < 0.1, "the weights are wrong");
  recoveries += result.recoveries;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The job of lesson 11 in a simulation, again and again, while workers and servers fail."};
  std::uint64_t runs = 100;
  app.add_option("--runs", runs, "seeds to try")
      ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max(), "at least 1"))
      ->capture_default_str();
  app.footer(
      "Exit codes:\n"
      "  0     all runs did what they must\n"
      "  1     a run did not\n"
      "  2     wrong usage (options, or TROUPE_... variables of a search), or a file can't be read or written");
  try {
    app.parse(argc, argv);
    int recoveries = 0;
    const auto result = explore([&](simulated_world& world) { check(world, recoveries); },
                                {.runs = runs, .faults = standard_faults(member_hosts(size), 3s)});
    if (result.found) {
      fmt::print("{}", result.found->report());
      return 1;
    }
    fmt::print("{} runs: the job ended in each, and went back to its checkpoint {} times\n", result.runs, recoveries);
    return 0;
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : 2;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "simulated_recovery: {}\n", failed.what());
    return 2;
  }
}
