// Lesson 2: trains a real network on a cluster, while a worker is killed and comes back. See README.md beside this
// file.
#include "fashion_mnist/data.hpp"
#include "fashion_mnist/network.hpp"
#include "fashion_mnist/training.hpp"
#include "program_arguments.hpp"

#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/launch/terminal.hpp>
#include <troupe/runtime/progress_bar.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>

#include <unistd.h>

namespace {

using namespace troupe;
using namespace troupe::fashion_mnist;

struct settings {
  training_options training;
  std::string checkpoint = (std::filesystem::temp_directory_path() / "fashion_mnist.safetensors").string();
  bool kill = true;
};

/// Counts what the cluster went through, for the summary.
struct history {
  std::atomic<std::uint64_t> rerun{0};
  std::atomic<std::uint64_t> lost{0};
};

event_listener::behavior_type historian(event_listener::pointer, std::shared_ptr<history> past) {
  return {[past](event_atom, wire<event>& message) {
    if (!message.open().ok()) return;
    if (message->kind == event_kind::closures_requeued) past->rerun += message->count;
    if (message->kind == event_kind::member_lost) ++past->lost;
  }};
}

int workers_alive(const cluster& cluster) {
  int alive = 0;
  for (const auto& member : cluster.view().members)
    alive += member.task.job == "worker" && member.state == member_presence::present;
  return alive;
}

/// The process of the last worker, if it is one of its own on this machine.
std::optional<pid_t> victim(cluster_coordinator& coordinator) {
  if (coordinator.strategy().worker_count() < 2) return {};
  const auto process = coordinator
                           .schedule(schedule_options{.worker = coordinator.strategy().worker_count() - 1},
                                     [] { return static_cast<std::int64_t>(::getpid()); })
                           .fetch();
  if (process == ::getpid()) return {};
  return static_cast<pid_t>(process);
}

/// What to exit with; nothing: train.
std::optional<int> read(const std::vector<std::string>& arguments, settings& chosen) {
  chosen.training.data_directory = default_directory;
  CLI::App options{
      "Trains a small network on Fashion-MNIST, asynchronously, on the cluster that it is started on; without one, "
      "inside this process",
      "fashion_mnist"};
  auto& recipe = chosen.training.recipe;
  options.add_option("--epochs", recipe.epochs, "Passes over the 60,000 images")->capture_default_str();
  options.add_option("--batch-size", recipe.batch_size, "Images of one gradient step")->capture_default_str();
  options.add_option("--data", chosen.training.data_directory, "Directory of the data set")->capture_default_str();
  options.add_option("--checkpoint", chosen.checkpoint, "Where the trained network is saved")->capture_default_str();
  options.add_flag("!--no-kill", chosen.kill, "Let all workers live; else one is killed in the middle");
  options.footer(examples::footer_of_run);
  return examples::read_arguments(options, arguments);
}

void train_and_report(cluster& cluster, const settings& chosen) {
  const auto past = std::make_shared<history>();
  caf::anon_send(cluster.events(), listen_atom_v, cluster.system().spawn(historian, past));
  const auto test = load_dataset(chosen.training.data_directory).test;
  parameter_server_strategy strategy{cluster};
  cluster_coordinator coordinator{strategy};
  const auto parameters = make_parameters(strategy, chosen.training.recipe);
  const auto worker = chosen.kill ? victim(coordinator) : std::nullopt;

  std::optional<progress_bar> bar;
  const auto began = std::chrono::steady_clock::now();
  auto alive = cluster.worker_count();
  const auto result =
      train(coordinator, parameters, chosen.training, [&](std::int64_t step, std::int64_t steps, double loss) {
        if (!bar)
          bar.emplace(std::cerr, progress_bar_options{.title = "training",
                                                      .steps_total = steps,
                                                      .is_terminal = shows_progress_bar(STDERR_FILENO),
                                                      .columns = terminal_columns(STDERR_FILENO)});
        if (worker && step == steps / 2) {
          bar->message(fmt::format("killing worker {} (process {}) with SIGKILL", cluster.worker_count() - 1, *worker));
          ::kill(*worker, SIGKILL);
        }
        if (step % 16 == 0) alive = workers_alive(cluster);
        const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        bar->update(step, fmt::format("loss {:.3f}  {:.0f} images/s  {}/{} workers", loss,
                                      static_cast<double>(step * chosen.training.recipe.batch_size) / seconds, alive,
                                      cluster.worker_count()));
      });
  if (bar) bar->finish(result.steps, fmt::format("{:.0f} images/s", result.images_per_second()));

  save_checkpoint(strategy, chosen.checkpoint, {{"steps", std::to_string(result.steps)}});
  fmt::print("test accuracy       {:.4f}\n", accuracy(read_all(parameters), test));
  fmt::print("training time       {:.1f} s\n", result.seconds);
  fmt::print("images/s            {:.0f}\n", result.images_per_second());
  fmt::print("closures/s          {:.0f}\n", result.steps_per_second());
  fmt::print("workers lost        {}\n", past->lost.load());
  fmt::print("closures run again  {}\n", past->rerun.load());
  fmt::print("checkpoint          {}\n", std::filesystem::absolute(chosen.checkpoint).string());
}

}  // namespace

int main(int argc, char** argv) {
  return run(
      argc, argv,
      [](cluster& cluster) -> int {
        settings chosen;
        if (const auto code = read(cluster.arguments(), chosen)) return *code;
        train_and_report(cluster, chosen);
        return exit_code::success;
      },
      training_cluster_options());
}
