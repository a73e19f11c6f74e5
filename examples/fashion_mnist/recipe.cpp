#include "fashion_mnist/recipe.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace troupe::fashion_mnist {
namespace {

/// Far beyond use, and small enough that no product of two counts overflows.
constexpr std::int64_t count_max = 1'000'000;

void check_count(std::string_view name, std::int64_t value) {
  if (value >= 1 && value <= count_max) return;
  throw invalid_argument_error(fmt::format("{} is {}; expected 1 to {}", name, value, count_max));
}

void check_positive(std::string_view name, double value, std::string_view example) {
  if (value > 0 && std::isfinite(value)) return;
  throw invalid_argument_error(fmt::format("{} is {}; expected a positive number such as {}", name, value, example));
}

void check_share(std::string_view name, double value) {
  if (value >= 0 && value < 1) return;
  throw invalid_argument_error(fmt::format("{} is {}; expected at least 0 and less than 1", name, value));
}

}  // namespace

void check_recipe(const recipe& chosen) {
  check_count("epochs", chosen.epochs);
  check_count("batch_size", chosen.batch_size);
  check_positive("learning_rate", chosen.learning_rate, "0.002");
  check_positive("epsilon", chosen.epsilon, "1e-7");
  check_share("beta1", chosen.beta1);
  check_share("beta2", chosen.beta2);
}

}  // namespace troupe::fashion_mnist
