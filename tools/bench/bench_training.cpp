// Images per second of the Fashion-MNIST example, beside the same model in one plain loop.
#include "bench_case.hpp"
#include "fashion_mnist/data.hpp"
#include "fashion_mnist/plain_loop.hpp"
#include "fashion_mnist/training.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::tools {

namespace {

namespace example = fashion_mnist;

/// One repetition is one epoch, whatever the plan's time.
std::vector<figure> train(const measuring_plan& plan, cluster& cluster) {
  const example::training_options options{.recipe = {.epochs = 1}, .data_directory = example::default_directory};
  const auto data = example::load_dataset(options.data_directory);
  parameter_server_strategy strategy{cluster};
  cluster_coordinator coordinator{strategy};
  const auto parameters = example::make_parameters(strategy, options.recipe);
  auto short_plan = plan;
  short_plan.repetitions = std::min(plan.repetitions, 3);
  return {compare(
      short_plan, {"img/s"},
      [&](std::chrono::nanoseconds) { return example::train(coordinator, parameters, options).images_per_second(); },
      "the same model in one plain loop",
      [&](std::chrono::nanoseconds) { return example::train_in_plain_loop(data, options.recipe).images_per_second; })};
}

bench_case training_with_workers(int workers) {
  return {.bench = "training",
          .name = fmt::format("workers-{}", workers),
          .summary = fmt::format("images per second of the Fashion-MNIST example, {} worker{} and 2 servers", workers,
                                 workers == 1 ? "" : "s"),
          .where = placement_of_members::processes,
          .size = {.workers = workers, .servers = 2},
          .measure = train,
          .options = example::training_cluster_options()};
}

}  // namespace

std::vector<bench_case> training_cases() { return {training_with_workers(1), training_with_workers(2)}; }

}  // namespace troupe::tools
