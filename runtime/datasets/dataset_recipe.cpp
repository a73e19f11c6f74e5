#include <troupe/device/base/error.hpp>
#include <troupe/runtime/datasets/dataset_recipe.hpp>

#include <array>

namespace troupe::detail {

void dataset_recipe::check() const {
  if (obstacle_.empty()) return;
  throw invalid_argument_error{"this dataset can't be made on a worker: " + obstacle_ +
                               "; give create_per_worker_dataset a function that makes the dataset, with what it needs "
                               "as further arguments"};
}

value dataset_recipe::make_value() const {
  check();
  value made;
  for (const auto& each : calls_)
    made = function_registry::instance().find_or_throw(each.function).call(each.arguments, std::array{made});
  return made;
}

}  // namespace troupe::detail
