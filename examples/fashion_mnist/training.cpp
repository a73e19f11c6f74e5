#include "fashion_mnist/data.hpp"
#include "fashion_mnist/network.hpp"
#include "fashion_mnist/training.hpp"

#include <chrono>
#include <deque>

namespace troupe::fashion_mnist {

namespace {

struct step_outcome {
  double loss = 0;
  std::int64_t images = 0;
};

/// Runs on a worker.
step_outcome train_step(const std::vector<tensor_variable>& parameters, const dataset_iterator<batch>& input,
                        const optimizer& rule) {
  const auto images = input.next();
  const auto step = loss_and_gradients(read_all(parameters), images.images, images.labels);
  apply_gradients(rule, parameters, step.gradients);
  return {step.loss, images.size()};
}

TROUPE_REGISTER("fashion_mnist/train_step", train_step);

/// Each worker reads its own share of the images, for ever.
troupe::dataset<batch> open_training_images(input_context context, const std::string& directory, std::uint64_t seed,
                                            std::int64_t batch_size) {
  static const auto images = load_dataset(directory).train;
  const batches_options options{.seed = seed,
                                .shard_index = context.input_pipeline_id,
                                .shard_count = context.num_input_pipelines,
                                .batch_size = batch_size,
                                .epochs = std::nullopt};
  return troupe::dataset<batch>{[options] {
    auto source = std::make_shared<batches>(images, options);
    return dataset_iterator<batch>{[source] { return source->next(); }};
  }};
}

}  // namespace

std::vector<tensor_variable> make_parameters(parameter_server_strategy& strategy, const recipe& recipe) {
  const auto names = parameter_names();
  const auto initial = initial_parameters(recipe.seed);
  std::vector<tensor_variable> parameters;
  for (std::size_t i = 0; i < names.size(); ++i) parameters.push_back(strategy.variable(names[i], initial[i]));
  return parameters;
}

cluster_options training_cluster_options() {
  cluster_options options;
  options.coordinator.windows.slots = 1;
  options.coordinator.windows.fibers_max = 1;
  return options;
}

training_result train(cluster_coordinator& coordinator, const std::vector<tensor_variable>& parameters,
                      const training_options& options,
                      const std::function<void(std::int64_t, std::int64_t, double)>& on_step) {
  const auto& recipe = options.recipe;
  check_recipe(recipe);
  constexpr std::int64_t training_images = 60'000;
  const auto steps = recipe.epochs * ((training_images + recipe.batch_size - 1) / recipe.batch_size);
  const auto images = coordinator.create_per_worker_dataset(
      [](input_context context, const std::string& directory, std::uint64_t seed, std::int64_t batch_size) {
        return open_training_images(context, directory, seed, batch_size);
      },
      options.data_directory, recipe.seed, recipe.batch_size);
  const auto iterator = images.iterate();
  const auto ahead = static_cast<std::size_t>(options.steps_ahead_per_worker * coordinator.strategy().worker_count());
  const auto start = std::chrono::steady_clock::now();
  training_result result;
  std::deque<remote_value<step_outcome>> open;
  for (std::int64_t step = 0; step < steps || !open.empty();) {
    if (step < steps && open.size() < ahead) {
      const auto rule =
          optimizer::adam(recipe.learning_rate_at(step, steps), recipe.beta1, recipe.beta2, recipe.epsilon);
      open.push_back(coordinator.schedule<train_step>(parameters, iterator, rule));
      ++step;
      continue;
    }
    const auto outcome = open.front().fetch();
    open.pop_front();
    result.images += outcome.images;
    ++result.steps;
    if (on_step) on_step(result.steps, steps, outcome.loss);
  }
  coordinator.join();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace troupe::fashion_mnist
