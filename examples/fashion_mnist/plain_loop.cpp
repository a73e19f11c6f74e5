#include "fashion_mnist/network.hpp"
#include "fashion_mnist/plain_loop.hpp"

#include <troupe/device/kernels/optimizer_kernels.hpp>

#include <chrono>
#include <utility>

namespace troupe::fashion_mnist {
namespace {

/// The parameters with Adam's two slots each.
class trainer {
 public:
  trainer(const recipe& chosen, std::int64_t step_count)
      : recipe_(chosen), step_count_(step_count), parameters_(initial_parameters(chosen.seed)) {
    for (const auto& x : parameters_) {
      first_moments_.push_back(tensor::zeros(x.get_dtype(), x.get_shape()));
      second_moments_.push_back(tensor::zeros(x.get_dtype(), x.get_shape()));
    }
  }

  /// One step; returns its loss.
  double train(const batch& examples) {
    auto step = loss_and_gradients(parameters_, examples.images, examples.labels);
    auto learning_rate = recipe_.learning_rate_at(steps_, step_count_);
    ++steps_;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      adam_update(parameters_[i], first_moments_[i], second_moments_[i], step.gradients[i], learning_rate,
                  recipe_.beta1, recipe_.beta2, recipe_.epsilon, steps_);
    }
    return step.loss;
  }

  const std::vector<tensor>& parameters() const { return parameters_; }
  std::int64_t steps() const { return steps_; }

 private:
  const recipe& recipe_;
  std::int64_t step_count_;
  std::int64_t steps_ = 0;
  std::vector<tensor> parameters_;
  std::vector<tensor> first_moments_;
  std::vector<tensor> second_moments_;
};

/// Trains one epoch and measures it; the test is not part of the time.
epoch_report train_epoch(trainer& model, batches& source, std::int64_t epoch, const labelled_images& test) {
  using clock = std::chrono::steady_clock;
  auto start = clock::now();
  auto loss = 0.0;
  for (std::int64_t i = 0; i < source.batches_per_epoch(); ++i) loss += model.train(source.next().value());
  auto seconds = std::chrono::duration<double>(clock::now() - start).count();
  return {.epoch = epoch,
          .mean_loss = loss / static_cast<double>(source.batches_per_epoch()),
          .test_accuracy = accuracy(model.parameters(), test),
          .seconds = seconds};
}

}  // namespace

plain_loop_result train_in_plain_loop(const dataset& data, const recipe& chosen,
                                      const std::function<void(const epoch_report&)>& on_epoch) {
  check_recipe(chosen);
  auto source = batches{data.train, {.seed = chosen.seed, .batch_size = chosen.batch_size, .epochs = chosen.epochs}};
  auto model = trainer{chosen, chosen.epochs * source.batches_per_epoch()};
  auto result = plain_loop_result{};
  auto seconds = 0.0;
  for (std::int64_t epoch = 1; epoch <= chosen.epochs; ++epoch) {
    result.epochs.push_back(train_epoch(model, source, epoch, data.test));
    seconds += result.epochs.back().seconds;
    if (on_epoch) on_epoch(result.epochs.back());
  }
  result.parameters = model.parameters();
  result.steps = model.steps();
  result.images_per_second = static_cast<double>(data.train.size() * chosen.epochs) / seconds;
  result.test_accuracy = result.epochs.back().test_accuracy;
  return result;
}

}  // namespace troupe::fashion_mnist
