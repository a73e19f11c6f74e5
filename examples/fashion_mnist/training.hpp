// Trains the network on a cluster, asynchronously: parameters and Adam's moments live on the servers, each gradient
// step is a closure on whichever worker is free.
//
// A step reads all parameters (one round trip), computes on the worker's next batch, and sends the gradients to the
// servers, which apply them (one round trip). Steps of different workers overlap, so a gradient may be a step old. A
// worker that is lost costs the steps that it was computing; they run again elsewhere.
#pragma once

#include "fashion_mnist/recipe.hpp"

#include <troupe/troupe.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace troupe::fashion_mnist {

struct training_options {
  fashion_mnist::recipe recipe;
  std::string data_directory;
  /// Steps that are scheduled ahead of the workers.
  std::int64_t steps_ahead_per_worker = 4;
};

struct training_result {
  std::int64_t steps = 0;
  std::int64_t images = 0;
  double seconds = 0;
  double images_per_second() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
  double steps_per_second() const { return seconds > 0 ? static_cast<double>(steps) / seconds : 0; }
};

/// The network's parameters as variables of the strategy.
std::vector<tensor_variable> make_parameters(parameter_server_strategy& strategy, const recipe& recipe);

/// Options for clusters that train: one step at a time on each worker keeps gradients fresh.
cluster_options training_cluster_options();

/// Trains for the recipe's epochs; `on_step(steps done, steps in all, loss)` after each. @throws what the steps throw.
training_result train(cluster_coordinator& coordinator, const std::vector<tensor_variable>& parameters,
                      const training_options& options,
                      const std::function<void(std::int64_t, std::int64_t, double)>& on_step = {});

}  // namespace troupe::fashion_mnist
