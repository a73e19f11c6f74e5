// The learning rate of an Adam step after its bias correction, as optimizer_kernels.hpp gives it. Private to the
// optimizers' kernels, of the host and of devices.
#pragma once

#include <cmath>
#include <cstdint>

namespace troupe {

inline double adam_rate(double learning_rate, double beta1, double beta2, std::int64_t step) {
  const auto power = static_cast<double>(step);
  return learning_rate * std::sqrt(1 - std::pow(beta2, power)) / (1 - std::pow(beta1, power));
}

}  // namespace troupe
