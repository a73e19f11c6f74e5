// The same model and the same optimizer as the cluster trains, in one plain loop on one thread: what the cluster's
// speed and accuracy are measured against.
#pragma once

#include "fashion_mnist/data.hpp"
#include "fashion_mnist/recipe.hpp"

#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace troupe::fashion_mnist {

/// The figures of one epoch.
struct epoch_report {
  /// From 1.
  std::int64_t epoch = 0;
  /// Mean over the epoch's batches, each at its own step's parameters.
  double mean_loss = 0;
  double test_accuracy = 0;
  /// Wall time of the training steps, without the test.
  double seconds = 0;
};

struct plain_loop_result {
  std::vector<epoch_report> epochs;
  /// The trained parameters, in the network's order.
  std::vector<tensor> parameters;
  std::int64_t steps = 0;
  /// Of training alone.
  double images_per_second = 0;
  /// After the last epoch.
  double test_accuracy = 0;
};

/// Trains on the calling thread and returns when done, after about two seconds an epoch; `on_epoch`, if set, is called
/// after each. The same arguments give the same parameters, bit for bit, on the same machine. Throws what
/// `check_recipe` throws.
plain_loop_result train_in_plain_loop(const dataset& data, const recipe& chosen = {},
                                      const std::function<void(const epoch_report&)>& on_epoch = {});

}  // namespace troupe::fashion_mnist
