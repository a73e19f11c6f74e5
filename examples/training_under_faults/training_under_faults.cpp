// Lesson 9: tests a program that was written for `run`, the training of lesson 2, under failures in virtual time. See
// README.md beside this file.
#include "fashion_mnist/data.hpp"
#include "fashion_mnist/network.hpp"
#include "fashion_mnist/training.hpp"
#include "search_program.hpp"

#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/simulation.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

using namespace std::chrono_literals;

namespace {

using namespace troupe;
using examples::search_exit;

struct settings {
  std::uint64_t runs = 20;
  bool servers_fail = false;
  std::string data = fashion_mnist::default_directory;
};

/// Half of a second of virtual time: one pass over the images.
constexpr auto faulty_time = 300ms;
/// Gradients that are a step older or younger move the accuracy by less.
constexpr auto tolerance = 0.02;
const local_cluster size{.workers = 3, .servers = 2};

/// The training of lesson 2, as it is. Gives the test accuracy.
double train(cluster& here, const settings& chosen) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  fashion_mnist::training_options options{.data_directory = chosen.data};
  options.recipe.epochs = 1;
  const auto parameters = fashion_mnist::make_parameters(strategy, options.recipe);
  const auto result = fashion_mnist::train(coordinator, parameters, options);
  if (result.steps != 469) throw internal_error{fmt::format("{} of 469 steps were done", result.steps)};
  static const auto test = fashion_mnist::load_dataset(chosen.data).test;
  return fashion_mnist::accuracy(read_all(parameters), test);
}

/// In one world.
double simulated_accuracy(simulated_world& world, const settings& chosen) {
  double result = 0;
  run_options options;
  options.program = [&](cluster& here) { result = train(here, chosen); };
  options.size = size;
  options.cluster = fashion_mnist::training_cluster_options();
  simulate(world, options);
  return result;
}

search_exit test(const settings& chosen) {
  simulated_world calm{{.seed = 1}};
  const auto expected = simulated_accuracy(calm, chosen);
  fmt::print("without faults: test accuracy {:.4f} after {} ms of virtual time\n", expected,
             std::chrono::duration_cast<std::chrono::milliseconds>(calm.now()).count());
  auto hosts = member_hosts(size);
  if (!chosen.servers_fail) std::erase_if(hosts, [](const auto& each) { return each.starts_with("ps"); });
  auto worst = 0.0;
  const auto result = explore(
      [&](simulated_world& world) {
        const auto accuracy = simulated_accuracy(world, chosen);
        worst = std::max(worst, std::abs(accuracy - expected));
        world.require(accuracy > expected - tolerance, fmt::format("the accuracy is {:.4f} only", accuracy));
      },
      {.runs = chosen.runs, .faults = standard_faults(hosts, faulty_time)});
  if (result.found) {
    fmt::print("{}", result.found->report());
    return search_exit::found;
  }
  fmt::print("{} runs under faults: all steps done, the accuracy differs by {:.4f} at most\n", result.runs, worst);
  return search_exit::nothing_found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Trains a small network on Fashion-MNIST in a simulation, again and again, while members fail.",
               "training_under_faults"};
  settings chosen;
  examples::add_runs(app, chosen.runs);
  app.add_flag("--servers-fail", chosen.servers_fail,
               "parameter servers fail, too, which this program does not survive");
  app.add_option("--data", chosen.data, "directory of the data set")->capture_default_str();
  return examples::run_search(app, argc, argv, [&] { return test(chosen); });
}
