// Lesson 11, as a test: the same job in virtual time, while workers and servers fail. See README.md beside
// this file.
#include "job.hpp"
#include "search_program.hpp"

#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/simulation.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

using namespace std::chrono_literals;

namespace {

using namespace troupe;
using namespace troupe::recovery;
using examples::search_exit;

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

search_exit search(std::uint64_t runs) {
  int recoveries = 0;
  const auto result = explore([&](simulated_world& world) { check(world, recoveries); },
                              {.runs = runs, .faults = standard_faults(member_hosts(size), 3s)});
  if (result.found) {
    fmt::print("{}", result.found->report());
    return search_exit::found;
  }
  fmt::print("{} runs: the job ended in each, and went back to its checkpoint {} times\n", result.runs, recoveries);
  return search_exit::nothing_found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The job of lesson 11 in a simulation, again and again, while workers and servers fail.",
               "simulated_recovery"};
  std::uint64_t runs = 100;
  examples::add_runs(app, runs);
  return examples::run_search(app, argc, argv, [&] { return search(runs); });
}
