// How the model is trained: the hyper-parameters that the plain loop and the cluster share, so that their
// figures compare.
//
// They were chosen on 5,000 images held out of the training set, for gradients up to three steps old: what a
// parameter was when a worker read it is not what it is when the worker's gradient arrives. Two choices follow
// from that. The learning rate falls linearly to zero, which takes out the noise that stale gradients leave, and Adam
// averages its gradients over fewer steps (beta1) than usual, because staleness itself already acts like momentum.
#pragma once

#include <cstdint>

namespace troupe::fashion_mnist {

struct recipe {
  std::int64_t epochs = 5;
  std::int64_t batch_size = 128;
  /// Adam's constants; the learning rate is that of the first step.
  double learning_rate = 0.002;
  double beta1 = 0.5;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  /// Of the initial parameters and of the order of the images.
  std::uint64_t seed = 1;

  /// The learning rate of step `step` of `step_count`, counted from 0; 0 from `step_count` on.
  double learning_rate_at(std::int64_t step, std::int64_t step_count) const {
    if (step >= step_count) return 0;
    return learning_rate * static_cast<double>(step_count - step) / static_cast<double>(step_count);
  }
};

/// Throws `invalid_argument_error` for epochs or a batch size outside 1 to 1,000,000, a learning rate or epsilon that
/// is not positive and finite, or a beta outside [0, 1).
void check_recipe(const recipe& chosen);

}  // namespace troupe::fashion_mnist
