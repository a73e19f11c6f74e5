// Lesson 5: trains the network of lesson 2 synchronously, on replicas of one process or of several. See README.md
// beside this file.
#include "fashion_mnist/data.hpp"
#include "fashion_mnist/mirrored_training.hpp"
#include "fashion_mnist/network.hpp"
#include "program_arguments.hpp"

#include <troupe/runtime/launch/terminal.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/progress_bar.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/strategy_extended.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <iostream>
#include <optional>

#include <unistd.h>

namespace {

using namespace troupe;
using namespace troupe::fashion_mnist;

struct settings {
  recipe training;
  int replicas = 2;
  std::vector<std::string> devices;
  std::string data_directory = default_directory;
};

/// What to exit with; nothing: train.
std::optional<int> read(const std::vector<std::string>& arguments, settings& chosen) {
  CLI::App options{"Trains a small network on Fashion-MNIST, synchronously, on several replicas",
                   "mirrored_fashion_mnist"};
  options.add_option("--replicas", chosen.replicas, "Replicas in each process")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  options.add_option("--devices", chosen.devices, "The replicas' devices instead, such as GPU:0,GPU:1")->delimiter(',');
  options.add_option("--epochs", chosen.training.epochs, "Passes over the 60,000 images")->capture_default_str();
  options.add_option("--batch-size", chosen.training.batch_size, "Images of one step, over all replicas")
      ->capture_default_str();
  options.add_option("--data", chosen.data_directory, "Directory of the data set")->capture_default_str();
  options.footer(examples::footer_of_run);
  return examples::read_arguments(options, arguments);
}

void train_and_report(process_group& group, const settings& chosen) {
  auto devices = chosen.devices;
  if (devices.empty())
    for (auto i = 0; i < chosen.replicas; ++i) devices.push_back(fmt::format("CPU:{}", i));
  const multi_worker_mirrored_strategy strategy{group, devices};
  const auto data = load_dataset(chosen.data_directory);
  const auto network = make_mirrored_network(strategy, chosen.training);
  const auto reports = strategy.extended().should_save_summary();

  std::optional<progress_bar> bar;
  const auto show = [&](std::int64_t step, std::int64_t steps, double loss) {
    if (!bar)
      bar.emplace(std::cerr, progress_bar_options{.title = "training",
                                                  .steps_total = steps,
                                                  .is_terminal = shows_progress_bar(STDERR_FILENO),
                                                  .columns = terminal_columns(STDERR_FILENO)});
    bar->update(step, fmt::format("loss {:.3f}", loss));
  };
  const auto result = train_mirrored(strategy, network, data.train, chosen.training, reports ? show : step_observer{});
  if (bar) bar->finish(result.steps, fmt::format("{:.0f} images/s", result.images_per_second()));
  if (!copies_are_equal(network.parameters)) throw internal_error{"the replicas' copies of the parameters differ"};
  if (!reports) return;
  fmt::print("replicas       {} in {} processes\n", strategy.num_replicas_in_sync(), group.size());
  fmt::print("test accuracy  {:.4f}\n", accuracy(values_on_host(network.parameters), data.test));
  fmt::print("training time  {:.1f} s\n", result.seconds);
  fmt::print("images/s       {:.0f}\n", result.images_per_second());
}

}  // namespace

int main(int argc, char** argv) {
  return run_group(argc, argv, [](process_group& group) -> int {
    settings chosen;
    if (const auto code = read(group.arguments(), chosen)) return *code;
    train_and_report(group, chosen);
    return exit_code::success;
  });
}
