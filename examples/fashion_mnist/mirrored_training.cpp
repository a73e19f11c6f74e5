#include "fashion_mnist/mirrored_training.hpp"
#include "fashion_mnist/network.hpp"

#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>
#include <troupe/runtime/dataset_sources.hpp>
#include <troupe/runtime/replica_context.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace troupe::fashion_mnist {

namespace {

/// Gradients of the global batch's mean loss, as far as this replica's images go.
step_result share_of_gradients(const std::vector<tensor>& parameters, const batch& mine, std::int64_t global_size) {
  if (mine.size() == 0) {
    step_result nothing;
    for (const auto& each : parameters)
      nothing.gradients.push_back(tensor::zeros(each.get_dtype(), each.get_shape(), each.device()));
    return nothing;
  }
  auto result = loss_and_gradients(parameters, mine.images, mine.labels);
  const auto share = static_cast<double>(mine.size()) / static_cast<double>(global_size);
  result.loss *= share;
  if (mine.size() != global_size)
    for (auto& each : result.gradients) scale_in_place(each, share);
  return result;
}

void update_parameter(const mirrored_network& network, std::size_t which, const tensor& gradient, const recipe& chosen,
                      double learning_rate, std::int64_t step) {
  // In update context all three variables stand for this replica's copies.
  replica_context::current().update(network.parameters[which], [&](const variable_component& mine) {
    mine.modify([&](tensor& parameter) {
      network.first_moments[which].modify([&](tensor& m) {
        network.second_moments[which].modify([&](tensor& v) {
          adam_update(parameter, m, v, gradient, learning_rate, chosen.beta1, chosen.beta2, chosen.epsilon, step + 1);
        });
      });
    });
  });
}

/// What each replica does in a step.
double replica_step(const mirrored_network& network, const batch& mine, std::int64_t global_size, const recipe& chosen,
                    std::int64_t step, std::int64_t steps) {
  auto result = share_of_gradients(values_of(network.parameters), mine, global_size);
  const auto gradients = replica_context::current().all_reduce(reduce_op::sum, result.gradients);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    update_parameter(network, i, gradients[i], chosen, chosen.learning_rate_at(step, steps), step);
  return result.loss;
}

/// All epochs' global batches, one after another.
troupe::dataset<batch> global_batches(const labelled_images& images, const recipe& chosen) {
  return from_generator([images, chosen] {
    const auto source = std::make_shared<batches>(
        images, batches_options{.seed = chosen.seed, .batch_size = chosen.batch_size, .epochs = chosen.epochs});
    return [source] { return source->next(); };
  });
}

}  // namespace

mirrored_network make_mirrored_network(const strategy& strategy, const recipe& chosen) {
  check_recipe(chosen);
  mirrored_network network;
  const auto names = parameter_names();
  const auto initial = initial_parameters(chosen.seed);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto zeros = tensor::zeros(initial[i].get_dtype(), initial[i].get_shape());
    network.parameters.push_back(strategy.variable(names[i], initial[i]));
    network.first_moments.push_back(strategy.variable(names[i] + "/m", zeros, {.trainable = false}));
    network.second_moments.push_back(strategy.variable(names[i] + "/v", zeros, {.trainable = false}));
  }
  return network;
}

double mirrored_step(const strategy& strategy, const mirrored_network& network, const per_replica<batch>& images,
                     std::int64_t global_size, const recipe& chosen, std::int64_t step, std::int64_t steps) {
  const auto losses = strategy.run(
      [&](const batch& mine) { return replica_step(network, mine, global_size, chosen, step, steps); }, images);
  return strategy.reduce(reduce_op::sum, losses);
}

mirrored_training_result train_mirrored(const strategy& strategy, const mirrored_network& network,
                                        const labelled_images& images, const recipe& chosen,
                                        const step_observer& on_step) {
  check_recipe(chosen);
  const auto per_epoch = (images.size() + chosen.batch_size - 1) / chosen.batch_size;
  const auto steps = per_epoch * chosen.epochs;
  const auto begin = std::chrono::steady_clock::now();
  mirrored_training_result result;
  const auto iterator = strategy.distribute_dataset(global_batches(images, chosen)).iterate();
  while (const auto next = iterator.next_or_end()) {
    const auto done = result.steps % per_epoch * chosen.batch_size;
    const auto global_size = std::min(chosen.batch_size, images.size() - done);
    result.last_loss = mirrored_step(strategy, network, *next, global_size, chosen, result.steps, steps);
    result.images += global_size;
    ++result.steps;
    if (on_step) on_step(result.steps, steps, result.last_loss);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

std::vector<tensor> values_of(const std::vector<distributed_variable>& parameters) {
  std::vector<tensor> values;
  values.reserve(parameters.size());
  for (const auto& each : parameters) values.push_back(each.read());
  return values;
}

std::vector<tensor> values_on_host(const std::vector<distributed_variable>& parameters) {
  auto values = values_of(parameters);
  for (auto& each : values) each = each.copy_to("CPU:0");
  return values;
}

bool copies_are_equal(const std::vector<distributed_variable>& parameters) {
  return std::ranges::all_of(parameters, [](const distributed_variable& variable) {
    const auto copies = variable.components();
    const auto first = copies.front().read().copy_to("CPU:0");
    return std::ranges::all_of(
        copies, [&](const variable_component& each) { return each.read().copy_to("CPU:0").bitwise_equal(first); });
  });
}

}  // namespace troupe::fashion_mnist
