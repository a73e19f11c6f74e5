// Synchronous training: each step takes one global batch, divided over the replicas, and all replicas apply the same
// gradients to their own copies of the parameters.
//
// The gradients that are added up are those of the global batch's mean loss, so the number of replicas changes nothing
// but the order of additions: one, two and four replicas reach the same accuracy.
#pragma once

#include "fashion_mnist/data.hpp"
#include "fashion_mnist/recipe.hpp"

#include <troupe/runtime/strategy.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace troupe::fashion_mnist {

/// The network's parameters and Adam's two slots for each, with a copy on every replica.
struct mirrored_network {
  std::vector<distributed_variable> parameters;
  std::vector<distributed_variable> first_moments;
  std::vector<distributed_variable> second_moments;
};

/// Makes the variables, with the recipe's seed.
mirrored_network make_mirrored_network(const strategy& strategy, const recipe& chosen);

struct mirrored_training_result {
  std::int64_t steps = 0;
  std::int64_t images = 0;
  double seconds = 0;
  double last_loss = 0;

  double images_per_second() const { return static_cast<double>(images) / seconds; }
};

/// Called after each step with its number (from 1), the number of steps, and its loss.
using step_observer = std::function<void(std::int64_t step, std::int64_t steps, double loss)>;

/// One step on a global batch: gradients, their sum over all replicas, Adam. Returns the mean loss. `step` counts from
/// 0.
double mirrored_step(const strategy& strategy, const mirrored_network& network, const per_replica<batch>& images,
                     std::int64_t global_size, const recipe& chosen, std::int64_t step, std::int64_t steps);

/// Trains for the recipe's epochs with global batches of its batch size. All processes of the strategy call it.
mirrored_training_result train_mirrored(const strategy& strategy, const mirrored_network& network,
                                        const labelled_images& images, const recipe& chosen,
                                        const step_observer& on_step = {});

/// The current values of the parameters, in the network's order, where they lie.
std::vector<tensor> values_of(const std::vector<distributed_variable>& parameters);

/// The same on the host.
std::vector<tensor> values_on_host(const std::vector<distributed_variable>& parameters);

/// Whether all copies of each parameter in this process are the same bits.
bool copies_are_equal(const std::vector<distributed_variable>& parameters);

}  // namespace troupe::fashion_mnist
